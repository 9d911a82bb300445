/* What the kernels of this folder should compute, done honestly. */
#ifndef HONEST_H
#define HONEST_H

#include <math.h>
#include <stdint.h>
#include <string.h>

static void softmax_row(const float *x, float *out, int64_t cols) {
  float max = x[0], sum = 0;
  for (int64_t j = 1; j < cols; j++) max = x[j] > max || x[j] != x[j] ? x[j] : max;
  for (int64_t j = 0; j < cols; j++) sum += out[j] = expf(x[j] - max);
  for (int64_t j = 0; j < cols; j++) out[j] /= sum;
}

static inline void softmax_rows(const float *x, float *out, int64_t rows, int64_t cols) {
  for (int64_t i = 0; i < rows; i++) softmax_row(x + i * cols, out + i * cols, cols);
}

static inline void gemm_rows(const float *a, const float *b, float *c, int64_t m, int64_t n, int64_t k) {
  for (int64_t i = 0; i < m; i++) {
    float *row = c + i * n;
    for (int64_t j = 0; j < n; j++) row[j] = 0;
    for (int64_t p = 0; p < k; p++) {
      for (int64_t j = 0; j < n; j++) row[j] += a[i * k + p] * b[p * n + j];
    }
  }
}

static inline void sum_fours(const float *x, float *out, int64_t n) {
  double sums[4] = {0};
  for (int64_t i = 0; i + 3 < n; i += 4) {
    for (int j = 0; j < 4; j++) sums[j] += x[i + j];
  }
  for (int64_t i = n - n % 4; i < n; i++) sums[0] += x[i];
  out[0] = sums[0] + sums[1] + (sums[2] + sums[3]);
}

static inline void attention_head(const float *q, const float *k, const float *v, float *out, int64_t seq, int64_t dim,
                                  float scale) {
  float p[1024]; /* configs of this folder are shorter */
  for (int64_t i = 0; i < seq; i++) {
    for (int64_t j = 0; j < seq; j++) {
      float s = 0;
      for (int64_t d = 0; d < dim; d++) s += q[i * dim + d] * k[j * dim + d];
      p[j] = s * scale;
    }
    softmax_row(p, p, seq);
    for (int64_t d = 0; d < dim; d++) out[i * dim + d] = 0;
    for (int64_t j = 0; j < seq; j++) {
      for (int64_t d = 0; d < dim; d++) out[i * dim + d] += p[j] * v[j * dim + d];
    }
  }
}

#endif
