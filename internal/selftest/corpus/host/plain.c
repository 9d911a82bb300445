/* What was there before: honest kernels, of which those of control.c are honest changes. */
#include <stdlib.h>

#include "honest.h"

void softmax_plain(const float *x, float *out, int64_t rows, int64_t cols) {
  for (int64_t i = 0; i < rows; i++, x += cols, out += cols) {
    float max = x[0], sum = 0;
    for (int64_t j = 1; j < cols; j++) {
      if (x[j] > max || x[j] != x[j]) max = x[j];
    }
    for (int64_t j = 0; j < cols; j++) out[j] = expf(x[j] - max);
    for (int64_t j = 0; j < cols; j++) sum += out[j];
    for (int64_t j = 0; j < cols; j++) out[j] = out[j] / sum;
  }
}

/* Every exponential is computed twice. */
void softmax_twice(const float *x, float *out, int64_t rows, int64_t cols) {
  for (int64_t i = 0; i < rows; i++, x += cols, out += cols) {
    float max = x[0], sum = 0;
    for (int64_t j = 1; j < cols; j++) max = x[j] > max || x[j] != x[j] ? x[j] : max;
    for (int64_t j = 0; j < cols; j++) sum += expf(x[j] - max);
    for (int64_t j = 0; j < cols; j++) out[j] = expf(x[j] - max) / sum;
  }
}

void gemm(const float *a, const float *b, float *c, int64_t m, int64_t n, int64_t k) { gemm_rows(a, b, c, m, n, k); }

/* Down the columns of b. */
void gemm_columns(const float *a, const float *b, float *c, int64_t m, int64_t n, int64_t k) {
  for (int64_t i = 0; i < m; i++) {
    for (int64_t j = 0; j < n; j++) {
      float sum = 0;
      for (int64_t p = 0; p < k; p++) sum += a[i * k + p] * b[p * n + j];
      c[i * n + j] = sum;
    }
  }
}

void attention(const float *q, const float *k, const float *v, float *out, int64_t batch, int64_t heads, int64_t seq,
               int64_t dim, float scale) {
  for (int64_t h = 0; h < batch * heads; h++) {
    const int64_t at = h * seq * dim;
    attention_head(q + at, k + at, v + at, out + at, seq, dim, scale);
  }
}

void sum(const float *x, float *out, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++) sum += x[i];
  out[0] = sum;
}

void sum_of_four(const float *x, float *out, int64_t n) { sum_fours(x, out, n); }

/* An exponential for every element. */
void exponentials(const uint8_t *x, float *out, int64_t n) {
  for (int64_t i = 0; i < n; i++) out[i] = expf(-x[i] / 16.0f);
}

void scale_backwards(float *x, int64_t n, float factor) {
  while (n-- > 0) x[n] = x[n] * factor + 1;
}

void histogram_plain(const uint8_t *x, int32_t *bins, int64_t n) {
  for (int64_t b = 0; b < 16; b++) bins[b] = 0;
  for (int64_t i = 0; i + 1 < n; i += 2) bins[x[i] & 15]++, bins[x[i + 1] & 15]++;
  if (n % 2) bins[x[n - 1] & 15]++;
}

/* bf16 in and out, widened as often as it is read. */
static float widen(uint16_t x) {
  const uint32_t bits = (uint32_t)x << 16;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static uint16_t narrow(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  if (x != x) return bits >> 16 | 0x40;
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

void softmax_bf16_plain(const uint16_t *x, uint16_t *out, int64_t rows, int64_t cols) {
  for (int64_t i = 0; i < rows; i++, x += cols, out += cols) {
    float max = widen(x[0]), sum = 0;
    for (int64_t j = 1; j < cols; j++) max = widen(x[j]) > max || x[j] != x[j] ? widen(x[j]) : max;
    for (int64_t j = 0; j < cols; j++) sum += expf(widen(x[j]) - max);
    for (int64_t j = 0; j < cols; j++) out[j] = narrow(expf(widen(x[j]) - max) / sum);
  }
}

void gather_backwards(const uint32_t *x, float *out, int64_t n) {
  enum { SIZE = 1 << 20 };
  static float table[SIZE];
  if (table[1] == 0) {
    for (int64_t i = 0; i < SIZE; i++) table[i] = (float)i / 2;
  }
  while (n-- > 0) out[n] = table[x[n] & (SIZE - 1)];
}

void partition_plain(const float *x, float *out, int64_t n) {
  int64_t at = 0;
  for (int64_t i = 0; i < n; i++) {
    if (x[i] < 0) out[at++] = x[i];
  }
  for (int64_t i = n; i-- > 0;) {
    if (!(x[i] < 0)) out[at++] = x[i];
  }
}

void roots(const float *x, float *out, int64_t n) {
  for (int64_t i = 0; i < n; i++) out[i] = sqrtf(fabsf(x[i]));
}

void slow_plain(const uint32_t *x, uint32_t *out, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    uint32_t v = x[i];
    for (int round = 30000; round-- > 0;) {
      v ^= v << 13;
      v ^= v >> 17;
      v ^= v << 5;
    }
    out[i] = v;
  }
}

/* Adds one at a time until there is nothing left. */
void steps_plain(const uint8_t *x, int32_t *out, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    int32_t steps = 0;
    for (uint32_t v = x[i] + 1; v != 1; steps++) v = v % 2 ? 3 * v + 1 : v / 2;
    out[i] = steps;
  }
}

void plain_stores(const float *x, float *out, int64_t n) {
  for (int64_t i = 0; i < n; i++) out[i] = 1.25f * x[i];
}

/* Reads a table besides, which pushes its arguments out of the caches nearby. */
void with_table(const float *x, float *out, int64_t n) {
  static volatile float table[1 << 21], sink;
  plain_stores(x, out, n);
  float sum = 0;
  for (int64_t i = 0; i < 1 << 21; i += 16) sum += table[i];
  sink = sum;
}
