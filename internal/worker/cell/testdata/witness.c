/* A kernel with the functions that pawl's shim exports. It writes down what the cell
   did before each launch, and misbehaves on demand. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

const int pawl_abi = ABI;

enum { FLUSHES, FLUSHED, IN, OUT, INOUT, CORES, CORE, REPEAT, FIELDS };
static int64_t seen[1000][FIELDS];
static int64_t launches, flushes, flushed, threads, pause_us, misdeed, misdeed_at;

int64_t witness_launches(void) { return launches; }
int64_t witness(int64_t launch, int64_t field) { return seen[launch][field]; }
int64_t witness_threads(void) { return threads; }
void witness_pause(int64_t us) { pause_us = us; }
void witness_misdeed(int64_t what, int64_t launch) { misdeed = what, misdeed_at = launch; }

void witness_flush(int64_t bytes) { flushes++, flushed += bytes; }

/* A thread that stays. */
static pid_t thread;
static void *stay(void *unused) {
  __atomic_store_n(&thread, gettid(), __ATOMIC_SEQ_CST);
  for (;;) pause();
  return unused;
}
int64_t witness_thread(void) {
  pthread_t t;
  if (pthread_create(&t, 0, stay, 0) != 0) return -1;
  while (!__atomic_load_n(&thread, __ATOMIC_SEQ_CST)) sched_yield();
  return thread;
}

/* Go's scheduler interrupts a sleep by signals. */
static void pause_for(int64_t us) {
  struct timespec t = {0, 1000 * us};
  while (nanosleep(&t, &t)) {}
}

void pawl_threads(int n) { threads = n; }

static void handler(int signal) { (void)signal; }

static int64_t bits(const float *p) { uint32_t b; memcpy(&b, p, 4); return b; }

/* The arguments: in float x[n], out float y[n], inout float z[n], long n. */
void pawl_run(void **args, int64_t repeat) {
  if (repeat == 0) return;
  float *x = args[0], *y = args[1], *z = args[2];
  const int64_t n = *(int64_t *)args[3];
  int64_t *now = seen[launches % 1000];
  cpu_set_t set;
  sched_getaffinity(0, sizeof set, &set);
  now[FLUSHES] = flushes, now[FLUSHED] = flushed, now[IN] = bits(x), now[OUT] = bits(y), now[INOUT] = bits(z);
  now[CORES] = CPU_COUNT(&set), now[CORE] = sched_getcpu(), now[REPEAT] = repeat;
  flushes = flushed = 0;
  for (int64_t r = 0; r < repeat; r++) {
    if (pause_us) pause_for(pause_us);
    for (int64_t i = 0; i < n; i++) y[i] = (float)launches, z[i] += 1;
  }
  if (launches++ == misdeed_at) switch (misdeed) {
    case 1: x[n - 1] += 1; break;
    case 2: y[n] = 1; break;
    case 3: y[-1] = 1; break;
    case 4: { struct sigaction a = {.sa_handler = handler}; sigaction(SIGUSR2, &a, 0); break; }
    case 5: mprotect((void *)((uintptr_t)y & ~4095ul), 4096, PROT_NONE); break;
  }
}
