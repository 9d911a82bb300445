/* Attention forward: out = softmax(q kᵀ · scale) v, on [B, H, S, D] tensors.

   Keys are visited in tiles of BLOCK_N. Each query row keeps the largest score
   and the sum of exponentials seen so far and rescales its output when a larger
   score turns up (online softmax), so the S×S matrix never exists.

   -fopenmp-simd lets the compiler vectorise sums and maxima that are marked; it
   may not change their order otherwise. No threads are involved. */
#include <float.h>
#include <stdint.h>

#include "vexp.h"

#ifndef BLOCK_M
#define BLOCK_M 16 /* query rows that share one transposed tile of keys */
#endif
#ifndef BLOCK_N
#define BLOCK_N 32 /* keys in a tile */
#endif
#ifndef UNROLL
#define UNROLL 2 /* rows added to the target in one pass over it */
#endif

#define DEPTH 64 /* of a transposed tile: longer heads take several */

static inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* y[0..n) += sum of a[i] * row i of x. Every pass loads and stores y, so UNROLL
   rows share one; the sum stays in order, hence the same for every UNROLL. */
static void add_rows(float *restrict y, int64_t n, const float *restrict a, const float *restrict x,
                     int64_t stride, int64_t rows) {
  int64_t i = 0;
  for (; i + UNROLL <= rows; i += UNROLL) {
#pragma omp simd
    for (int64_t c = 0; c < n; c++) {
      float sum = y[c];
      for (int64_t u = 0; u < UNROLL; u++) sum += a[i + u] * x[(i + u) * stride + c];
      y[c] = sum;
    }
  }
  for (; i < rows; i++) {
    for (int64_t c = 0; c < n; c++) y[c] += a[i] * x[i * stride + c];
  }
}

/* p = q kᵀ for a tile. A dot product along D would be a chain of dependent
   additions; with the keys transposed the loop runs over independent scores. */
static void scores(float p[BLOCK_M][BLOCK_N], const float *q, const float *k, int64_t rows, int64_t cols,
                   int64_t dim) {
  float transposed[DEPTH][BLOCK_N];
  for (int64_t r = 0; r < rows; r++) {
    for (int64_t c = 0; c < cols; c++) p[r][c] = 0;
  }
  for (int64_t d0 = 0; d0 < dim; d0 += DEPTH) {
    const int64_t depth = least(DEPTH, dim - d0);
    for (int64_t c = 0; c < cols; c++) {
      for (int64_t d = 0; d < depth; d++) transposed[d][c] = k[c * dim + d0 + d];
    }
    for (int64_t r = 0; r < rows; r++) {
      add_rows(p[r], cols, q + r * dim + d0, transposed[0], BLOCK_N, depth);
    }
  }
}

/* What a query row remembers of the tiles before. */
typedef struct { float max, sum; } softmax_state;

/* Turns the scores of a row into weights relative to the largest score so far
   and returns the factor by which everything older has to shrink. */
static float weigh(softmax_state *state, float *p, int64_t cols, float scale) {
  float max = state->max;
#pragma omp simd reduction(max : max)
  for (int64_t c = 0; c < cols; c++) {
    p[c] *= scale;
    max = p[c] > max ? p[c] : max;
  }
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t c = 0; c < cols; c++) sum += p[c] = vexp(p[c] - max);
  const float shrink = vexp(state->max - max);
  *state = (softmax_state){max, state->sum * shrink + sum};
  return shrink;
}

/* One head, one tile of query rows, the first of which is row i0. */
static void tile(const float *q, const float *k, const float *v, float *out, int64_t i0, int64_t rows,
                 int64_t seq, int64_t dim, float scale, int32_t causal) {
  float p[BLOCK_M][BLOCK_N];
  softmax_state state[BLOCK_M];
  const int64_t end = causal ? i0 + rows : seq; /* no row of the tile sees further */
  for (int64_t r = 0; r < rows; r++) {
    state[r] = (softmax_state){-FLT_MAX, 0}; /* an infinity less itself would be NaN */
    for (int64_t d = 0; d < dim; d++) out[r * dim + d] = 0;
  }
  for (int64_t j0 = 0; j0 < end; j0 += BLOCK_N) {
    const int64_t cols = least(BLOCK_N, end - j0);
    scores(p, q, k + j0 * dim, rows, cols, dim);
    for (int64_t r = 0; r < rows; r++) {
      const int64_t seen = causal ? least(cols, i0 + r + 1 - j0) : cols;
      if (seen <= 0) continue;
      float *row = out + r * dim;
      const float shrink = weigh(&state[r], p[r], seen, scale);
      if (shrink != 1) {
        for (int64_t d = 0; d < dim; d++) row[d] *= shrink;
      }
      add_rows(row, dim, p[r], v + j0 * dim, dim, seen);
    }
  }
  for (int64_t r = 0; r < rows; r++) {
    for (int64_t d = 0; d < dim; d++) out[r * dim + d] /= state[r].sum;
  }
}

void attention(const float *q, const float *k, const float *v, float *out, int64_t batch, int64_t heads,
               int64_t seq, int64_t dim, float scale, int32_t causal) {
  for (int64_t h = 0; h < batch * heads; h++) {
    const int64_t head = h * seq * dim;
    for (int64_t i0 = 0; i0 < seq; i0 += BLOCK_M) {
      const int64_t at = head + i0 * dim;
      const int64_t rows = least(BLOCK_M, seq - i0);
      tile(q + at, k + head, v + head, out + at, i0, rows, seq, dim, scale, causal);
    }
  }
}
