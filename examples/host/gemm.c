/* C = A B for row-major matrices: A is M×K, B is K×N.

   A slab of B, TILE_K deep and TILE_N wide, is packed so that it is read from
   the nearest cache without gaps. All rows of A then pass over it, TILE_M at a
   time, with their TILE_M×TILE_N sums in registers. */
#include <stdint.h>

#ifndef TILE_M
#define TILE_M 2 /* rows of sums in registers */
#endif
#ifndef TILE_N
#define TILE_N 16 /* columns of sums in registers */
#endif
#ifndef TILE_K
#define TILE_K 64 /* depth of the packed slab */
#endif

static inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* Copies a slab of B; columns that B does not have are zeros, so that what
   follows knows full tiles only. */
static void pack(float slab[TILE_K][TILE_N], const float *b, int64_t n, int64_t depth, int64_t cols) {
  for (int64_t p = 0; p < depth; p++) {
    for (int64_t j = 0; j < TILE_N; j++) slab[p][j] = j < cols ? b[p * n + j] : 0;
  }
}

/* sums = rows of A times the slab. Without -fopenmp-simd the inner loop may be
   unrolled before anybody sees that it fits in vectors. */
static void multiply(float sums[restrict TILE_M][TILE_N], const float *const a[TILE_M],
                     float slab[restrict TILE_K][TILE_N], int64_t depth) {
  float s[TILE_M][TILE_N] = {{0}};
  for (int64_t p = 0; p < depth; p++) {
    for (int64_t i = 0; i < TILE_M; i++) {
      const float x = a[i][p];
#pragma omp simd
      for (int64_t j = 0; j < TILE_N; j++) s[i][j] += x * slab[p][j];
    }
  }
  for (int64_t i = 0; i < TILE_M; i++) {
    for (int64_t j = 0; j < TILE_N; j++) sums[i][j] = s[i][j];
  }
}

void gemm(const float *a, const float *b, float *c, int64_t m, int64_t n, int64_t k) {
  float slab[TILE_K][TILE_N], sums[TILE_M][TILE_N];
  for (int64_t j0 = 0; j0 < n; j0 += TILE_N) {
    const int64_t cols = least(TILE_N, n - j0);
    for (int64_t p0 = 0; p0 < k; p0 += TILE_K) {
      const int64_t depth = least(TILE_K, k - p0);
      pack(slab, b + p0 * n + j0, n, depth, cols);
      for (int64_t i0 = 0; i0 < m; i0 += TILE_M) {
        const int64_t rows = least(TILE_M, m - i0);
        /* Past the last row the last one is read again and its sums dropped. */
        const float *row[TILE_M];
        for (int64_t i = 0; i < TILE_M; i++) row[i] = a + (i0 + least(i, rows - 1)) * k + p0;
        multiply(sums, row, slab, depth);
        for (int64_t i = 0; i < rows; i++) {
          float *to = c + (i0 + i) * n + j0;
          for (int64_t j = 0; j < cols; j++) to[j] = p0 > 0 ? to[j] + sums[i][j] : sums[i][j];
        }
      }
    }
  }
}
