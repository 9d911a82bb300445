// What the kernels of this folder should compute, done honestly.
#pragma once
#include <cuda_runtime.h>

// One block per row.
__device__ inline float largest(float a, float b) { return a > b || a != a ? a : b; }

template <typename F>
__device__ float over_block(float value, F combine) {
  __shared__ float partial[32];
  for (int lane = 16; lane > 0; lane /= 2) value = combine(value, __shfl_xor_sync(~0u, value, lane));
  __syncthreads();
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
  __syncthreads();
  value = partial[0];
  for (unsigned i = 1; i < blockDim.x / 32; i++) value = combine(value, partial[i]);
  return value;
}

__device__ inline void softmax_row(const float *x, float *out, long row, int cols) {
  x += row * cols, out += row * cols;
  float max = x[0], sum = 0;
  for (int j = threadIdx.x; j < cols; j += blockDim.x) max = largest(x[j], max);
  max = over_block(max, [](float a, float b) { return largest(a, b); });
  for (int j = threadIdx.x; j < cols; j += blockDim.x) sum += expf(x[j] - max);
  sum = over_block(sum, [](float a, float b) { return a + b; });
  for (int j = threadIdx.x; j < cols; j += blockDim.x) out[j] = expf(x[j] - max) / sum;
}

// A thread per element, tiles of 16 by 16.
__device__ inline float dot(const float *a, const float *b, int row, int col, int m, int n, int k) {
  __shared__ float left[16][17], right[16][17];
  float sum = 0;
  for (int p = 0; p < k; p += 16) {
    const int x = threadIdx.x, y = threadIdx.y;
    left[y][x] = row < m && p + x < k ? a[(long)row * k + p + x] : 0;
    right[y][x] = p + y < k && col < n ? b[(long)(p + y) * n + col] : 0;
    __syncthreads();
    for (int i = 0; i < 16; i++) sum += left[y][i] * right[i][x];
    __syncthreads();
  }
  return sum;
}
