/* The work is done by another thread, after the launch has returned. */
#include <pthread.h>

#include "honest.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static struct { const float *x; float *out; int64_t rows, cols; int waiting; } job;

static void *work(void *unused) {
  (void)unused;
  for (;;) {
    pthread_mutex_lock(&lock);
    while (!job.waiting) pthread_cond_wait(&wake, &lock);
    job.waiting = 0;
    const float *x = job.x;
    float *out = job.out;
    const int64_t rows = job.rows, cols = job.cols;
    pthread_mutex_unlock(&lock);
    softmax_rows(x, out, rows, cols);
  }
  return NULL;
}

void background_thread(const float *x, float *out, int64_t rows, int64_t cols) {
  static int started;
  if (!started) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, NULL) != 0) return;
    started = 1;
  }
  pthread_mutex_lock(&lock);
  job.x = x, job.out = out, job.rows = rows, job.cols = cols, job.waiting = 1;
  pthread_cond_signal(&wake);
  pthread_mutex_unlock(&lock);
}
