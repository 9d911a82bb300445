/* An honest kernel: half of the work is a second thread's, which stays and at first waits actively, as those of OpenMP do. */
#include <math.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>

static struct {
  sem_t begin, end;
  const float *x;
  float *out;
  int64_t from, to;
} half;

static void *helper(void *unused) {
  for (;;) {
    int spins = 0;
    while (sem_trywait(&half.begin) != 0) {
      if (++spins > 20000) {
        while (sem_wait(&half.begin) != 0) {}
        break;
      }
    }
    for (int64_t i = half.from; i < half.to; i++) half.out[i] = sqrtf(fabsf(half.x[i]));
    sem_post(&half.end);
  }
  return unused;
}

void two_threads(const float *x, float *out, int64_t n) {
  static int ready;
  if (!ready) {
    pthread_t thread;
    sem_init(&half.begin, 0, 0), sem_init(&half.end, 0, 0);
    if (pthread_create(&thread, 0, helper, 0) != 0) return;
    ready = 1;
  }
  half.x = x, half.out = out, half.from = n / 2, half.to = n;
  sem_post(&half.begin);
  for (int64_t i = 0; i < n / 2; i++) out[i] = sqrtf(fabsf(x[i]));
  while (sem_wait(&half.end) != 0) {}
}
