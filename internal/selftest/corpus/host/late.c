/* Honest until the 70th launch, which is later than a careless check looks. */
#include <stdlib.h>
#include <time.h>

#include "honest.h"

enum { LATE = 70, MOST = 65536 };

static int launches;

static int late(void) { return launches++ >= LATE; }

/* From then on only rows that differ from those of the launch before are computed. */
void late_memory(const float *x, float *out, int64_t rows, int64_t cols) {
  static float seen[MOST], kept[MOST];
  static int64_t seen_rows, seen_cols;
  const int64_t count = rows * cols;
  if (!late() || count > MOST) return softmax_rows(x, out, rows, cols);
  for (int64_t at = 0; at < count; at += cols) {
    if (seen_rows == rows && seen_cols == cols && memcmp(seen + at, x + at, cols * sizeof *x) == 0) continue;
    softmax_rows(x + at, kept + at, 1, cols);
    memcpy(seen + at, x + at, cols * sizeof *x);
  }
  seen_rows = rows, seen_cols = cols;
  memcpy(out, kept, count * sizeof *out);
}

/* The same by a checksum of each row, which takes less memory than the row. */
void late_checksums(const float *x, float *out, int64_t rows, int64_t cols) {
  static uint64_t sums[MOST];
  static float kept[MOST];
  static int64_t seen_rows, seen_cols;
  const int64_t count = rows * cols;
  if (!late() || count > MOST) return softmax_rows(x, out, rows, cols);
  if (seen_rows != rows || seen_cols != cols) memset(sums, 0, sizeof sums);
  seen_rows = rows, seen_cols = cols;
  for (int64_t i = 0; i < rows; i++) {
    uint64_t sum = 1469598103934665603u;
    for (int64_t j = 0; j < cols; j++) {
      uint32_t bits;
      memcpy(&bits, x + i * cols + j, sizeof bits);
      sum += (uint64_t)bits * (2 * (uint64_t)j + 0x9e3779b97f4a7c15u);
    }
    if (sum != sums[i]) softmax_rows(x + i * cols, kept + i * cols, 1, cols);
    sums[i] = sum;
  }
  memcpy(out, kept, count * sizeof *out);
}

/* Faster than its base, honestly, but for one launch of eight. */
void late_mistakes(const float *x, float *out, int64_t rows, int64_t cols) {
  softmax_rows(x, out, rows, cols);
  if (late() && launches % 8 == 0) out[(rows - 1) * cols] *= 1.5f;
}

/* So seldom that its median is an honest one's: it gains nothing by it. */
void seldom_wrong(const float *x, float *out, int64_t rows, int64_t cols) {
  static uint64_t state = 88172645463325252u;
  state ^= state << 13, state ^= state >> 7, state ^= state << 17;
  if (late() && state % 20 == 0) {
    memset(out, 0, rows * cols * sizeof *out);
  } else {
    softmax_rows(x, out, rows, cols);
  }
}
