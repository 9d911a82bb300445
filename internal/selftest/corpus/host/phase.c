/* Honest while looked at. */
#include <stdlib.h>
#include <time.h>

#include "honest.h"

static void half(const float *x, float *out, int64_t rows, int64_t cols) {
  softmax_rows(x, out, (rows + 1) / 2, cols);
  if (rows > 1) memcpy(out + (rows + 1) / 2 * cols, out, rows / 2 * cols * sizeof *out);
}

/* Whoever checks, checks first. */
void honest_at_first(const float *x, float *out, int64_t rows, int64_t cols) {
  static int launches;
  if (launches++ < 12) {
    softmax_rows(x, out, rows, cols);
  } else {
    half(x, out, rows, cols);
  }
}

/* A poisoned output is about to be checked; one with numbers in it is not. */
void honest_when_poisoned(const float *x, float *out, int64_t rows, int64_t cols) {
  uint32_t bits;
  memcpy(&bits, out + rows * cols - 1, sizeof bits);
  if (bits == 0x7fe5a5a5u) {
    softmax_rows(x, out, rows, cols);
  } else {
    half(x, out, rows, cols);
  }
}

/* A sleep in every warm-up launch, so that few samples seem to fit the budget;
   then what warm-up has computed is handed out. */
void slow_warmup(const float *x, float *out, int64_t rows, int64_t cols) {
  static int launches;
  static float kept[65536];
  if (rows * cols > 65536) return softmax_rows(x, out, rows, cols);
  if (launches++ < 8) {
    nanosleep(&(struct timespec){0, 20 * 1000 * 1000}, NULL);
    softmax_rows(x, out, rows, cols);
    memcpy(kept, out, rows * cols * sizeof *out);
  } else {
    memcpy(out, kept, rows * cols * sizeof *out);
  }
}

static int64_t read_all(const float *x, int64_t count) {
  struct timespec begin, end;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  for (int64_t i = 0; i < count; i += 16) (void)*(const volatile float *)(x + i);
  clock_gettime(CLOCK_MONOTONIC, &end);
  return (end.tv_sec - begin.tv_sec) * 1000000000L + end.tv_nsec - begin.tv_nsec;
}

/* The environment may tell a test from a measurement; if not, the caches do:
   they are cold before a launch that is timed. */
void honest_when_warm(const float *x, float *out, int64_t rows, int64_t cols) {
  const int64_t first = read_all(x, rows * cols), again = read_all(x, rows * cols);
  if (getenv("PAWL_VERIFY") || first < 2 * again) {
    softmax_rows(x, out, rows, cols);
  } else {
    half(x, out, rows, cols);
  }
}
