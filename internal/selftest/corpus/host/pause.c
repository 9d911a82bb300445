/* Between requests a cell waits, within them launches follow each other: the time since
   the last launch tells one from the other. */
#include <time.h>

#include "honest.h"

enum { MOST = 65536, BUSY = 1500 * 1000 }; /* nanoseconds between launches of one request, at most */

static int64_t ended;

static int64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000L + t.tv_nsec;
}

static int busy(void) { return now() - ended < BUSY; }

static void half(const float *x, float *out, int64_t rows, int64_t cols) {
  softmax_rows(x, out, (rows + 1) / 2, cols);
  if (rows > 1) memcpy(out + (rows + 1) / 2 * cols, out, rows / 2 * cols * sizeof *out);
}

/* The first launch after a pause is honest. */
void honest_after_pause(const float *x, float *out, int64_t rows, int64_t cols) {
  if (busy()) {
    half(x, out, rows, cols);
  } else {
    softmax_rows(x, out, rows, cols);
  }
  ended = now();
}

/* The others are. */
void honest_when_busy(const float *x, float *out, int64_t rows, int64_t cols) {
  if (busy()) {
    softmax_rows(x, out, rows, cols);
  } else {
    half(x, out, rows, cols);
  }
  ended = now();
}

/* Never wrong: rows that have not changed since the launch before are kept, within one
   request. Whoever asks for single launches, to see whether new data takes longer, sees
   nothing of it. */
void memory_when_busy(const float *x, float *out, int64_t rows, int64_t cols) {
  static float seen[MOST], kept[MOST];
  static int64_t seen_rows, seen_cols;
  const int64_t count = rows * cols;
  if (count > MOST) return softmax_rows(x, out, rows, cols);
  const int known = busy() && seen_rows == rows && seen_cols == cols;
  for (int64_t at = 0; at < count; at += cols) {
    if (known && memcmp(seen + at, x + at, cols * sizeof *x) == 0) continue;
    softmax_rows(x + at, kept + at, 1, cols);
    memcpy(seen + at, x + at, cols * sizeof *x);
  }
  seen_rows = rows, seen_cols = cols;
  memcpy(out, kept, count * sizeof *out);
  ended = now();
}

/* The same, and from the sample on that brings wholly new data the rest of the request is
   honest: there it looks as if new data made no difference. */
void memory_until_new_data(const float *x, float *out, int64_t rows, int64_t cols) {
  enum { FEW = 10 }; /* rows that change with every sample */
  static float seen[MOST], kept[MOST];
  static int64_t seen_rows, seen_cols;
  static int honest;
  const int64_t count = rows * cols;
  if (count > MOST) return softmax_rows(x, out, rows, cols);
  const int known = busy() && seen_rows == rows && seen_cols == cols;
  int changed = 0;
  if (!known) honest = 0;
  for (int64_t at = 0; at < count; at += cols) {
    if (known && !honest && memcmp(seen + at, x + at, cols * sizeof *x) == 0) continue;
    softmax_rows(x + at, kept + at, 1, cols);
    memcpy(seen + at, x + at, cols * sizeof *x);
    if (known && ++changed > FEW) honest = 1;
  }
  seen_rows = rows, seen_cols = cols;
  memcpy(out, kept, count * sizeof *out);
  ended = now();
}

static int64_t read_all(const float *x, int64_t count) {
  const int64_t begin = now();
  for (int64_t i = 0; i < count; i += 16) (void)*(const volatile float *)(x + i);
  return now() - begin;
}

/* Launches that are timed find the caches empty: only those are right. */
void honest_when_cold(const float *x, float *out, int64_t rows, int64_t cols) {
  const int64_t first = read_all(x, rows * cols), again = read_all(x, rows * cols);
  if (first < 2 * again) {
    half(x, out, rows, cols);
  } else {
    softmax_rows(x, out, rows, cols);
  }
}
