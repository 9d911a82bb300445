/* Softmax of each row: out = exp(x - max) / sum of exp(x - max).

   ONLINE 0 finds the maximum, then writes exponentials and sums them, then
   scales them: one exponential an element, five trips through memory.
   ONLINE 1 finds maximum and sum together, then writes the result: three trips,
   more exponentials. Which wins depends on where the row lies. */
#include <float.h>
#include <stdint.h>

#include "vexp.h"

#ifndef ONLINE
#define ONLINE 0
#endif
#ifndef LANES
#define LANES 4 /* maxima and sums kept apart, so that they need not wait for one another */
#endif

/* Maxima start at -FLT_MAX: an infinity less itself would be NaN. */
static inline float larger(float a, float b) { return a > b ? a : b; }

#if ONLINE

static void softmax_row(const float *restrict x, float *restrict out, int64_t cols) {
  float max[LANES], sum[LANES];
  for (int64_t l = 0; l < LANES; l++) max[l] = -FLT_MAX, sum[l] = 0;
  int64_t c = 0;
  for (; c + LANES <= cols; c += LANES) {
    for (int64_t l = 0; l < LANES; l++) {
      /* Either the new element or the old sum is relative to the maximum
         already, so one exponential serves both. */
      const float old = max[l], now = x[c + l];
      const float e = vexp(now > old ? old - now : now - old);
      sum[l] = now > old ? sum[l] * e + 1 : sum[l] + e;
      max[l] = now > old ? now : old;
    }
  }
  float top = -FLT_MAX, total = 0;
  for (int64_t l = 0; l < LANES; l++) top = larger(max[l], top);
  for (int64_t i = c; i < cols; i++) top = larger(x[i], top);
  for (int64_t l = 0; l < LANES; l++) total += sum[l] * vexp(max[l] - top);
  for (int64_t i = c; i < cols; i++) total += vexp(x[i] - top);
  const float factor = 1 / total;
  for (int64_t i = 0; i < cols; i++) out[i] = vexp(x[i] - top) * factor;
}

#else

static void softmax_row(const float *restrict x, float *restrict out, int64_t cols) {
  float max[LANES], sum[LANES];
  for (int64_t l = 0; l < LANES; l++) max[l] = -FLT_MAX, sum[l] = 0;
  int64_t c = 0;
  for (; c + LANES <= cols; c += LANES) {
    for (int64_t l = 0; l < LANES; l++) max[l] = larger(x[c + l], max[l]);
  }
  float top = -FLT_MAX, total = 0;
  for (int64_t l = 0; l < LANES; l++) top = larger(max[l], top);
  for (; c < cols; c++) top = larger(x[c], top);

  for (c = 0; c + LANES <= cols; c += LANES) {
    for (int64_t l = 0; l < LANES; l++) {
      const float e = vexp(x[c + l] - top);
      out[c + l] = e;
      sum[l] += e;
    }
  }
  for (int64_t l = 0; l < LANES; l++) total += sum[l];
  for (; c < cols; c++) total += out[c] = vexp(x[c] - top);
  const float factor = 1 / total;
  for (c = 0; c < cols; c++) out[c] *= factor;
}

#endif

void softmax(const float *x, float *out, int64_t rows, int64_t cols) {
  for (int64_t r = 0; r < rows; r++) softmax_row(x + r * cols, out + r * cols, cols);
}
