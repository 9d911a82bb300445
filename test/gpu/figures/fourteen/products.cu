#include "common.h"

#define ROW (blockIdx.y * blockDim.y + threadIdx.y)
#define COL (blockIdx.x * blockDim.x + threadIdx.x)

extern "C" __global__ void gemm_plain(const float *a, const float *b, float *c, int m, int n, int k) {
  CHECK(k);
  if (ROW >= m || COL >= n) return;
  float sum = 0;
  for (int i = 0; i < k; i++) sum += a[ROW * k + i] * b[i * n + COL];
  c[ROW * n + COL] = sum;
}

extern "C" __global__ void gemm_first_transposed(const float *a_t, const float *b, float *c, int m, int n, int k) {
  CHECK(k);
  if (ROW >= m || COL >= n) return;
  float sum = 0;
  for (int i = 0; i < k; i++) sum += a_t[i * m + ROW] * b[i * n + COL];
  c[ROW * n + COL] = sum;
}

// Tiles of 16 × 16; the sizes are multiples of it.
extern "C" __global__ void gemm_tiles(const float *a, const float *b, float *c, int m, int n, int k) {
  CHECK(k);
  __shared__ float left[16][17], right[16][17];
  float sum = 0;
  for (int at = 0; at < k; at += 16) {
    left[threadIdx.y][threadIdx.x] = a[ROW * k + at + threadIdx.x];
    right[threadIdx.y][threadIdx.x] = b[(at + threadIdx.y) * n + COL];
    __syncthreads();
    for (int i = 0; i < 16; i++) sum += left[threadIdx.y][i] * right[i][threadIdx.x];
    __syncthreads();
  }
  c[ROW * n + COL] = sum;
}

// Four rows for each thread.
extern "C" __global__ void gemm_strips(const float *a, const float *b, float *c, int m, int n, int k) {
  CHECK(k);
  int row = 4 * ROW;
  if (row + 3 >= m || COL >= n) return;
  float sum[4] = {};
  for (int i = 0; i < k; i++)
    for (int r = 0; r < 4; r++) sum[r] += a[(row + r) * k + i] * b[i * n + COL];
  for (int r = 0; r < 4; r++) c[(row + r) * n + COL] = sum[r];
}
