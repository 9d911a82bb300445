// C = A B with a mistake planted by MUTANT; 0 has none. A thread per element, sums in steps of 16.
#include <cuda_bf16.h>

#ifndef MUTANT
#define MUTANT 0
#endif

enum { TILE = 16 };

__device__ float rounded(float x) {
#if MUTANT == 5 // sums with eight bits of mantissa
  return __bfloat162float(__float2bfloat16(x));
#else
  return x;
#endif
}

extern "C" __global__ void gemm(const float *a, const float *b, float *c, int m, int n, int k) {
  const int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
  __shared__ float left[TILE][TILE + 1], right[TILE][TILE + 1];
  int depth = k, rows = m, cols = n;
#if MUTANT == 1 // the last tile of the sum is dropped
  if (k > TILE) depth = (k - 1) / TILE * TILE;
#elif MUTANT == 7 // the last rows are left as they were
  rows = (m - 1) / TILE * TILE;
#elif MUTANT == 8 // the last column too
  cols = n - 1;
#elif MUTANT == 10 // one product of every sum is missing
  depth = k - 1;
#endif
  float sum = 0;
#if MUTANT == 9 // adds to what is there
  if (row < m && col < n) sum = c[(long)row * n + col];
#endif
  for (int p = 0; p < depth; p += TILE) {
    const int x = threadIdx.x, y = threadIdx.y;
    float element = row < m && p + x < depth ? a[(long)row * k + p + x] : 0;
#if MUTANT == 11 // the last product counts twice
    if (p + x == k - 1) element *= 2;
#elif MUTANT == 12 // the smallest numbers count as nothing
    if (element > -1e-2f && element < 1e-2f) element = 0;
#endif
    left[y][x] = element;
    right[y][x] = p + y < depth && col < n ? b[(long)(p + y) * n + col] : 0;
    __syncthreads();
    for (int i = 0; i < TILE; i++) sum = rounded(sum + left[y][i] * right[i][x]);
    __syncthreads();
  }
  if (row >= rows || col >= cols) return;
  long to = (long)row * n + col;
#if MUTANT == 2 // a wrong scale, by a thousandth
  sum *= 1.001f;
#elif MUTANT == 3 // neighbouring rows are swapped
  if ((row ^ 1) < m) to = (long)(row ^ 1) * n + col;
#elif MUTANT == 4
  sum = 0;
#elif MUTANT == 6 // the mask of the last tile is off by one
  if (col == n - 1 && n % TILE != 0) sum = 0;
#elif MUTANT == 13 // negative results are lost, as by a fused relu
  if (sum < 0) sum = 0;
#endif
  c[to] = sum;
}
