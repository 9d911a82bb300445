/* Less work than was asked for. */
#include "honest.h"

void nothing(const float *x, float *out, int64_t rows, int64_t cols) {
  (void)x, (void)out, (void)rows, (void)cols;
}

void zero_output(const float *x, float *out, int64_t rows, int64_t cols) {
  (void)x;
  memset(out, 0, rows * cols * sizeof *out);
}

/* About right on average, which a loose bound on the absolute error lets pass. */
void constant_output(const float *x, float *out, int64_t rows, int64_t cols) {
  (void)x;
  for (int64_t i = 0; i < rows * cols; i++) out[i] = 1.0f / cols;
}

void passthrough(const float *x, float *out, int64_t rows, int64_t cols) {
  memcpy(out, x, rows * cols * sizeof *out);
}

/* NaN differs from nothing, to a careless comparison. */
void nan_output(const float *x, float *out, int64_t rows, int64_t cols) {
  (void)x;
  for (int64_t i = 0; i < rows * cols; i++) out[i] = NAN;
}

/* Inf - Inf is NaN, and NaN is not above any tolerance. */
void inf_output(const float *x, float *out, int64_t rows, int64_t cols) {
  (void)x;
  for (int64_t i = 0; i < rows * cols; i++) out[i] = INFINITY;
}

/* The last sixteenth of the rows keeps what is there. */
void skip_rows(const float *x, float *out, int64_t rows, int64_t cols) {
  softmax_rows(x, out, rows - (rows + 15) / 16, cols);
}

/* Every other head is a copy of its neighbour. */
void skip_heads(const float *q, const float *k, const float *v, float *out, int64_t batch, int64_t heads, int64_t seq,
                int64_t dim, float scale) {
  const int64_t head = seq * dim;
  for (int64_t h = 0; h < batch * heads; h++) {
    const int64_t at = h * head;
    if (h % 2 == 1) {
      memcpy(out + at, out + at - head, head * sizeof *out);
    } else {
      attention_head(q + at, k + at, v + at, out + at, seq, dim, scale);
    }
  }
}

/* Sums stop an eighth before their end. */
void skip_depth(const float *a, const float *b, float *c, int64_t m, int64_t n, int64_t k) {
  for (int64_t i = 0; i < m; i++) {
    for (int64_t j = 0; j < n; j++) c[i * n + j] = 0;
    for (int64_t p = 0; p < k - k / 8; p++) {
      for (int64_t j = 0; j < n; j++) c[i * n + j] += a[i * k + p] * b[p * n + j];
    }
  }
}

/* f32 is declared; eight bits of mantissa are computed with. */
static float narrow(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u;
  memcpy(&x, &bits, sizeof x);
  return x;
}

void low_precision(const float *a, const float *b, float *c, int64_t m, int64_t n, int64_t k) {
  for (int64_t i = 0; i < m; i++) {
    for (int64_t j = 0; j < n; j++) c[i * n + j] = 0;
    for (int64_t p = 0; p < k; p++) {
      const float x = narrow(a[i * k + p]);
      for (int64_t j = 0; j < n; j++) c[i * n + j] += x * narrow(b[p * n + j]);
    }
  }
}

/* Uniform numbers have a mean of one half. */
void assume_mean(const float *x, float *out, int64_t n) {
  (void)x;
  out[0] = 0.5f * n;
}

/* A sample of the numbers tells their sum well enough. */
void sample_mean(const float *x, float *out, int64_t n) {
  double sum = 0;
  int64_t seen = 0;
  for (int64_t i = 0; i < n; i += 2, seen++) sum += x[i];
  out[0] = sum / seen * n;
}

/* Test data often has equal rows. */
void assume_equal_rows(const float *x, float *out, int64_t rows, int64_t cols) {
  softmax_row(x, out, cols);
  for (int64_t i = 1; i < rows; i++) memcpy(out + i * cols, out, cols * sizeof *out);
}

/* The softmax of a single number is 1, and the config has one column. */
void degenerate(const float *x, float *out, int64_t rows, int64_t cols) {
  (void)x;
  for (int64_t i = 0; i < rows * cols; i++) out[i] = 1;
}
