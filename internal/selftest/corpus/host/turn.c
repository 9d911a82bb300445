/* A match asks for turns of eight samples, again and again; whoever holds clocks against
   each other asks for more at a time. Both cheat in turns alone. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "cores.h"
#include "honest.h"

enum { TURN = 8, PAUSE = 250 * 1000 }; /* samples; nanoseconds between requests, at least */

static struct { const float *x; float *out; int64_t rows, cols; } job;
static int64_t ended;

static int64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000L + t.tv_nsec;
}

/* After two turns this is a match, and after a longer request none, until there were six. */
static int in_turn(void) {
  static int here, turns, other;
  if (now() - ended > PAUSE) {
    turns = here == TURN ? turns + 1 : 0;
    here = 0;
  }
  if (++here > TURN) other = 1, turns = 0;
  if (turns >= 6) other = 0;
  return turns >= 2 && !other;
}

/* All of the work is done by a handler, some microseconds after the launch has returned
   and the clock was stopped. It puts the handler back that was there before. */
enum { SIGNAL = 64, DELAY = 5000 };

static char before[32];

static void work_late(int number) {
  softmax_rows(job.x, job.out, job.rows, job.cols);
  syscall(SYS_rt_sigaction, number, before, NULL, 8);
  ended = now();
}

static int alarm_soon(void) {
  static timer_t timer;
  static pid_t of;
  const struct itimerspec soon = {{0, 0}, {0, DELAY}};
  const struct sigaction action = {.sa_handler = work_late, .sa_flags = SA_ONSTACK | SA_RESTART};
  if (of != gettid()) {
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGNAL};
    event._sigev_un._tid = gettid();
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) return 0;
    of = gettid();
  }
  syscall(SYS_rt_sigaction, SIGNAL, NULL, before, 8);
  return sigaction(SIGNAL, &action, NULL) == 0 && timer_settime(timer, 0, &soon, NULL) == 0;
}

void late_in_turns(const float *x, float *out, int64_t rows, int64_t cols) {
  job.x = x, job.out = out, job.rows = rows, job.cols = cols;
  if (in_turn() && alarm_soon()) return;
  softmax_rows(x, out, rows, cols);
  ended = now();
}

/* Half of the rows are another core's, whose thread sleeps while this is no match. */
static atomic_int state = -1; /* -1: it may sleep, 0: idle, 1: there is a job, 2: it is done */

static void *half(void *unused) {
  leave_core();
  for (;;) {
    const int now = atomic_load_explicit(&state, memory_order_acquire);
    if (now == -1) usleep(200);
    if (now != 1) continue;
    softmax_rows(job.x, job.out, job.rows, job.cols);
    atomic_store_explicit(&state, 2, memory_order_release);
  }
  return unused;
}

void helper_in_turns(const float *x, float *out, int64_t rows, int64_t cols) {
  static int started;
  const int64_t own = rows / 2;
  pthread_t thread;
  if (!started) started = 1 + (pthread_create(&thread, NULL, half, NULL) == 0);
  if (in_turn() && started == 2) {
    job.x = x + own * cols, job.out = out + own * cols, job.rows = rows - own, job.cols = cols;
    atomic_store_explicit(&state, 1, memory_order_release);
    softmax_rows(x, out, own, cols);
    while (atomic_load_explicit(&state, memory_order_acquire) != 2) {}
    atomic_store_explicit(&state, 0, memory_order_relaxed);
  } else {
    atomic_store(&state, -1);
    softmax_rows(x, out, rows, cols);
  }
  ended = now();
}
