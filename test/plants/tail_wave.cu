// tail-wave: a few blocks more than fit at once, so most SMs wait while those run.
#include "plant.cuh"

// large_blocks: 1024 threads with 16 chains each fill an SM with one block. 140 blocks on 132 SMs take as long as 264
// would; 404 as long as 528.
// Fixed: blocks of 128 threads: the last ones share their SM with others.
template <int THREADS>
__device__ inline void iterate(const float *x, float *y, float b, int steps) {
  const size_t first = (size_t)blockIdx.x * THREADS * 16 + threadIdx.x;
  float v[16], s[16];
#pragma unroll
  for (int j = 0; j < 16; j++) s[j] = v[j] = x[first + j * THREADS];
#pragma unroll 4
  for (int k = 0; k < steps; k++) {
#pragma unroll
    for (int j = 0; j < 16; j++) s[j] = s[j] * v[j] + b;
  }
#pragma unroll
  for (int j = 0; j < 16; j++) y[first + j * THREADS] = s[j];
}

extern "C" __global__ void __launch_bounds__(1024, 1)
    large_blocks(const float *__restrict__ x, float *__restrict__ y, float b, int steps) {
  iterate<1024>(x, y, b, steps);
}

extern "C" __global__ void __launch_bounds__(128)
    large_blocks_fixed(const float *__restrict__ x, float *__restrict__ y, float b, int steps) {
  iterate<128>(x, y, b, steps);
}

// density_tiles: every thread sums the weights of 1024 points around 4 of its own; a block of 1024 threads fills an SM,
// and there are a few blocks more than SMs.
// Fixed: blocks of 128 threads.
template <int THREADS>
__device__ inline void density(const float4 *x, const float4 *points, float *y, int count) {
  __shared__ float4 tile[1024];
  const size_t first = (size_t)blockIdx.x * THREADS * 4 + threadIdx.x;
  float4 own[4];
  float sum[4] = {};
#pragma unroll
  for (int j = 0; j < 4; j++) own[j] = x[first + j * THREADS];
  for (int start = 0; start < count; start += 1024) {
    __syncthreads();
    for (int k = threadIdx.x; k < 1024; k += THREADS) tile[k] = points[start + k];
    __syncthreads();
#pragma unroll 2
    for (int k = 0; k < 1024; k++) {
      const float4 p = tile[k];
#pragma unroll
      for (int j = 0; j < 4; j++) {
        const float dx = p.x - own[j].x, dy = p.y - own[j].y, dz = p.z - own[j].z;
        sum[j] += fmaxf(p.w - dx * dx - dy * dy - dz * dz, 0);
      }
    }
  }
#pragma unroll
  for (int j = 0; j < 4; j++) y[first + j * THREADS] = sum[j];
}

extern "C" __global__ void __launch_bounds__(1024, 1)
    density_tiles(const float4 *__restrict__ x, const float4 *__restrict__ points, float *__restrict__ y, int count) {
  density<1024>(x, points, y, count);
}

extern "C" __global__ void __launch_bounds__(128)
    density_tiles_fixed(const float4 *__restrict__ x, const float4 *__restrict__ points, float *__restrict__ y, int count) {
  density<128>(x, points, y, count);
}
