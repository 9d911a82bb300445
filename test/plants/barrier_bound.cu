// barrier-bound: warps wait for each other at __syncthreads most of the time.
#include "plant.cuh"

// barrier_tree: a block of 32 warps adds rows of 1024 numbers by halves, with a barrier after each of 10 halvings: the mean
// first, then the squares around it. The next row is loaded meanwhile, so barriers are what is left.
// Fixed: a warp adds a row by shuffles; nobody waits for another warp.
__device__ inline float sum_by_halves(float *tree, float v) {
  const int t = threadIdx.x;
  __syncthreads(); // whoever still reads the last sum
  tree[t] = v;
#pragma unroll 1
  for (int half = 512; half > 0; half /= 2) {
    __syncthreads();
    if (t < half) tree[t] += tree[t + half];
  }
  __syncthreads();
  return tree[0];
}

extern "C" __global__ void __launch_bounds__(1024, 2)
    barrier_tree(const float *__restrict__ x, float *__restrict__ variances, int rows_per_block) {
  __shared__ float tree[1024];
  const size_t first = (size_t)blockIdx.x * rows_per_block;
  float next = x[first * 1024 + threadIdx.x];
  for (int r = 0; r < rows_per_block; r++) {
    const float v = next;
    if (r + 1 < rows_per_block) next = x[(first + r + 1) * 1024 + threadIdx.x];
    const float d = v - sum_by_halves(tree, v) * (1 / 1024.f);
    const float squares = sum_by_halves(tree, d * d);
    if (threadIdx.x == 0) variances[first + r] = squares * (1 / 1024.f);
  }
}

extern "C" __global__ void __launch_bounds__(128)
    barrier_tree_fixed(const float4 *__restrict__ x, float *__restrict__ variances, int) {
  const size_t r = (size_t)blockIdx.x * 4 + threadIdx.x / 32;
  float4 v[8];
#pragma unroll
  for (int j = 0; j < 8; j++) v[j] = x[r * 256 + j * 32 + threadIdx.x % 32];
  float sum = 0, squares = 0;
#pragma unroll
  for (int j = 0; j < 8; j++) sum += v[j].x + v[j].y + (v[j].z + v[j].w);
  const float mean = warp_sum(sum) * (1 / 1024.f);
#pragma unroll
  for (int j = 0; j < 8; j++) {
    const float a = v[j].x - mean, b = v[j].y - mean, c = v[j].z - mean, d = v[j].w - mean;
    squares += a * a + b * b + (c * c + d * d);
  }
  squares = warp_sum(squares) * (1 / 1024.f);
  if (threadIdx.x % 32 == 0) variances[r] = squares;
}

// one_thread_works: in every step one thread makes the factor of the step from the block's seed, 32 dependent FMAs, while
// 511 wait at the barrier to use it once.
// Fixed: thread k makes the factor of step k; one barrier for all 256 steps.
__device__ inline float make_factor(float seed, int step) {
  float f = seed + step * (1 / 256.f);
#pragma unroll 1
  for (int j = 0; j < 32; j++) f = f * 0.75f + seed;
  return f * 0.1f;
}

extern "C" __global__ void __launch_bounds__(512)
    one_thread_works(const float *__restrict__ x, const float *__restrict__ seeds, float *__restrict__ y) {
  __shared__ float factor;
  const size_t i = blockIdx.x * 512 + threadIdx.x;
  const float v = x[i];
  float s = v;
#pragma unroll 1
  for (int k = 0; k < 256; k++) {
    if (threadIdx.x == 0) factor = make_factor(seeds[blockIdx.x], k);
    __syncthreads();
    s = s * factor + v;
    __syncthreads();
  }
  y[i] = s;
}

extern "C" __global__ void __launch_bounds__(512)
    one_thread_works_fixed(const float *__restrict__ x, const float *__restrict__ seeds, float *__restrict__ y) {
  __shared__ float factor[256];
  const size_t i = blockIdx.x * 512 + threadIdx.x;
  const float v = x[i];
  float s = v;
  if (threadIdx.x < 256) factor[threadIdx.x] = make_factor(seeds[blockIdx.x], threadIdx.x);
  __syncthreads();
#pragma unroll 16
  for (int k = 0; k < 256; k++) s = s * factor[k] + v;
  y[i] = s;
}
