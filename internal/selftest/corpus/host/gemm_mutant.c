/* C = A B with a mistake planted by MUTANT; 0 has none. */
#include <stdint.h>
#include <string.h>

#ifndef MUTANT
#define MUTANT 0
#endif

enum { TILE = 16 };

static float rounded(float x) {
#if MUTANT == 5 /* sums with eight bits of mantissa */
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  if (x == x) bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u;
  memcpy(&x, &bits, sizeof x);
#endif
  return x;
}

void gemm(const float *a, const float *b, float *c, int64_t m, int64_t n, int64_t k) {
  int64_t depth = k, rows = m, cols = n;
#if MUTANT == 1 /* the last tile of the sum is dropped */
  if (k > TILE) depth = (k - 1) / TILE * TILE;
#elif MUTANT == 7 /* the last rows are left as they were */
  rows = (m - 1) / TILE * TILE;
#elif MUTANT == 8 /* the last column too */
  cols = n - 1;
#elif MUTANT == 10 /* one product of every sum is missing */
  depth = k - 1;
#endif
  for (int64_t i = 0; i < rows; i++) {
    for (int64_t j = 0; j < cols; j++) {
#if MUTANT == 9 /* adds to what is there */
      float sum = c[i * n + j];
#else
      float sum = 0;
#endif
      for (int64_t p = 0; p < depth; p++) {
        float x = a[i * k + p];
#if MUTANT == 11 /* the last product counts twice */
        if (p == k - 1) x *= 2;
#elif MUTANT == 12 /* the smallest numbers count as nothing */
        if (x > -1e-2f && x < 1e-2f) x = 0;
#endif
        sum = rounded(sum + x * b[p * n + j]);
      }
      int64_t to = i * n + j;
#if MUTANT == 2 /* a wrong scale, by a thousandth */
      sum *= 1.001f;
#elif MUTANT == 3 /* neighbouring rows are swapped */
      if ((i ^ 1) < m) to = (i ^ 1) * n + j;
#elif MUTANT == 4
      sum = 0;
#elif MUTANT == 6 /* the mask of the last tile is off by one */
      if (j == n - 1 && n % TILE != 0) sum = 0;
#elif MUTANT == 13 /* negative results are lost, as by a fused relu */
      if (sum < 0) sum = 0;
#endif
      c[to] = sum;
    }
  }
}
