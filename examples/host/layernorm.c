/* Layer normalisation of each row: out = (x - mean) / sqrt(variance + eps) * gamma + beta.

   ONE_PASS 0 sums the row for the mean and again for the variance. ONE_PASS 1
   does both at once after Welford, which reads the row once less and computes
   more. Sums of x and x² would be quicker still and are wrong for rows whose
   mean is far from zero. */
#include <math.h>
#include <stdint.h>

#ifndef ONE_PASS
#define ONE_PASS 0
#endif
#ifndef LANES
#define LANES 4 /* sums kept apart, so that they need not wait for one another */
#endif

typedef struct { float mean, squares; } moments; /* squares: sum of (x - mean)² */

#if ONE_PASS

/* Joins two groups of elements (Chan, Golub, LeVeque). */
static moments join(moments a, float count_a, moments b, float count_b) {
  const float share = count_b / (count_a + count_b), delta = b.mean - a.mean;
  return (moments){a.mean + delta * share, a.squares + b.squares + delta * delta * count_a * share};
}

static moments measure(const float *x, int64_t cols) {
  float mean[LANES] = {0}, squares[LANES] = {0};
  int64_t c = 0, count = 0;
  for (; c + LANES <= cols; c += LANES) {
    count++;
    const float inverse = 1 / (float)count; /* the same for all lanes, so one division serves them */
    for (int64_t l = 0; l < LANES; l++) {
      const float delta = x[c + l] - mean[l];
      mean[l] += delta * inverse;
      squares[l] += delta * (x[c + l] - mean[l]);
    }
  }
  moments all = {0, 0};
  float seen = 0;
  for (int64_t l = 0; l < LANES && count > 0; l++) {
    all = join(all, seen, (moments){mean[l], squares[l]}, (float)count);
    seen += (float)count;
  }
  for (; c < cols; c++) {
    all = join(all, seen, (moments){x[c], 0}, 1);
    seen += 1;
  }
  return all;
}

#else

static moments measure(const float *x, int64_t cols) {
  float sum[LANES] = {0}, square[LANES] = {0};
  int64_t c = 0;
  for (; c + LANES <= cols; c += LANES) {
    for (int64_t l = 0; l < LANES; l++) sum[l] += x[c + l];
  }
  float total = 0;
  for (int64_t l = 0; l < LANES; l++) total += sum[l];
  for (; c < cols; c++) total += x[c];
  const float mean = total / (float)cols;

  for (c = 0; c + LANES <= cols; c += LANES) {
    for (int64_t l = 0; l < LANES; l++) square[l] += (x[c + l] - mean) * (x[c + l] - mean);
  }
  float squares = 0;
  for (int64_t l = 0; l < LANES; l++) squares += square[l];
  for (; c < cols; c++) squares += (x[c] - mean) * (x[c] - mean);
  return (moments){mean, squares};
}

#endif

void layernorm(const float *x, const float *gamma, const float *beta, float *out, int64_t rows, int64_t cols,
               float eps) {
  for (int64_t r = 0; r < rows; r++) {
    const float *from = x + r * cols;
    float *restrict to = out + r * cols;
    const moments m = measure(from, cols);
    const float factor = 1 / sqrtf(m.squares / (float)cols + eps);
    for (int64_t c = 0; c < cols; c++) to[c] = (from[c] - m.mean) * factor * gamma[c] + beta[c];
  }
}
