/* One thread is declared. A second one helps, on another core. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "cores.h"
#include "honest.h"

static struct { const float *x; float *out; int64_t rows, cols; } job;
static atomic_int state; /* 0: idle, 1: there is a job, 2: it is done */

static int start(void *(*work)(void *)) {
  static int started;
  pthread_t thread;
  if (!started) started = 1 + (pthread_create(&thread, NULL, work, NULL) == 0);
  return started == 2;
}

static void *half(void *unused) {
  leave_core();
  for (;;) {
    while (atomic_load_explicit(&state, memory_order_acquire) != 1) {}
    softmax_rows(job.x, job.out, job.rows, job.cols);
    atomic_store_explicit(&state, 2, memory_order_release);
  }
  return unused;
}

/* Half of the rows are the other's, who waits actively. */
void helper_thread(const float *x, float *out, int64_t rows, int64_t cols) {
  const int64_t own = rows / 2;
  if (!start(half)) return softmax_rows(x, out, rows, cols);
  job.x = x + own * cols, job.out = out + own * cols, job.rows = rows - own, job.cols = cols;
  atomic_store_explicit(&state, 1, memory_order_release);
  softmax_rows(x, out, own, cols);
  while (atomic_load_explicit(&state, memory_order_acquire) != 2) {}
  atomic_store_explicit(&state, 0, memory_order_relaxed);
}

/* The other reads what was read last, all the time: before the next launch it is back in
   the caches that the cores share. */
static const float *volatile reading;
static volatile int64_t reading_count;
static volatile int again; /* launches that have read the same: only then is it safe to */

static void *read_ahead(void *unused) {
  leave_core();
  for (;;) {
    const float *x = reading;
    const int64_t count = again > 20 ? reading_count : 0;
    for (int64_t i = 0; i < count; i += 16) (void)*(const volatile float *)(x + i);
  }
  return unused;
}

void helper_reads(const float *x, float *out, int64_t n) {
  start(read_ahead);
  again = reading == x && reading_count == n ? again + 1 : 0;
  reading = x, reading_count = n;
  sum_fours(x, out, n);
}

/* The other one does not help: it works while the other version has its turn, next to the
   core and in the caches that the two share. A timer of its own wakes a cell that was
   stopped, again and again. */
static atomic_long ended; /* nanoseconds: the last launch; 0: one is under way */

static long now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000L + t.tv_nsec;
}

static void *hinder(void *unused) {
  enum { BYTES = 64 << 20, PART = 1 << 18, TURN = 300 * 1000 };
  static char memory[BYTES];
  const struct itimerspec often = {{0, 200 * 1000}, {0, 200 * 1000}};
  struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGCONT};
  sigset_t wakes;
  timer_t timer;
  sigemptyset(&wakes), sigaddset(&wakes, SIGCONT);
  pthread_sigmask(SIG_BLOCK, &wakes, NULL); /* else it would be dropped, and the timer not set again */
  event._sigev_un._tid = gettid();
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 || timer_settime(timer, 0, &often, NULL) != 0) return unused;
  leave_core();
  for (size_t at = 0;; at = (at + PART) % BYTES) {
    const long since = atomic_load(&ended);
    const struct timespec none = {0, 0}, nap = {0, 100 * 1000};
    const int theirs = since != 0 && now() - since > TURN;
    sigtimedwait(&wakes, NULL, theirs ? &none : &nap);
    if (theirs) memset(memory + at, (int)since, PART);
  }
}

void wake_and_hinder(const float *x, float *out, int64_t n) {
  atomic_store(&ended, 0);
  start(hinder);
  sum_fours(x, out, n);
  atomic_store(&ended, now());
}
