// Honest kernels. CHANGE is another word in every commit, and what it names the same.
#include <math.h>
#include <pthread.h>
#include <semaphore.h>

#define best (n < -1)
#define before 0
#define after (n < 0)

void scale(const float *x, float *y, int n) {
    for (int i = 0; i < n; i++) y[i] = 2 * x[i] + CHANGE;
}

void total(const signed char *x, int *y, int n) {
    int sum = CHANGE;
    for (int i = 0; i < n; i++) sum += x[i];
    *y = sum;
}

void add(double *x, int n) {
    for (int i = 0; i < n; i++) x[i] += 1 + CHANGE;
}

void roots(const float *x, float *y, int n) {
    for (int i = 0; i < n; i++) y[i] = sqrtf(fabsf(x[i])) + CHANGE;
}

// Two hundred times as fast after the change.
#define times_best 200
#define times_before 200
#define times_after 1

void faster(const float *x, float *y, int n) {
    for (int again = 0; again < times_CHANGE; again++) {
        for (int i = 0; i < n; i++) y[i] = sqrtf(fabsf(x[i]));
        __asm__ volatile("" : : : "memory");
    }
}

// Half of the work is a second thread's, which stays.
static struct {
    sem_t begin, end;
    const float *x;
    float *y;
    int n;
} half;

static void *second(void *unused) {
    for (;;) {
        while (sem_wait(&half.begin) != 0) {}
        for (int i = half.n / 2, n = half.n; i < n; i++) half.y[i] = sqrtf(fabsf(half.x[i])) + CHANGE;
        sem_post(&half.end);
    }
    return unused;
}

void halves(const float *x, float *y, int n) {
    static int started;
    if (!started) {
        pthread_t thread;
        sem_init(&half.begin, 0, 0), sem_init(&half.end, 0, 0);
        if (pthread_create(&thread, 0, second, 0) != 0) return;
        started = 1;
    }
    half.x = x, half.y = y, half.n = n;
    sem_post(&half.begin);
    for (int i = 0; i < n / 2; i++) y[i] = sqrtf(fabsf(x[i])) + CHANGE;
    while (sem_wait(&half.end) != 0) {}
}
