// Second faces of the causes: how work is spread over the GPU.
#include "plant.cuh"

// few_long_rows (small-grid): a block sums a row, and there are 24 rows.
// Fixed: 64 blocks a row, whose sums meet by atomic addition.
__device__ inline float sum_of(const float4 *from, int count) {
  float sum = 0;
#pragma unroll 4
  for (int c = threadIdx.x; c < count; c += 1024) {
    const float4 v = from[c];
    sum += v.x + v.y + (v.z + v.w);
  }
  return block_sum(sum);
}

extern "C" __global__ void __launch_bounds__(1024)
    few_long_rows(const float4 *__restrict__ x, float *__restrict__ sums, int columns) {
  const float sum = sum_of(x + (size_t)blockIdx.x * (columns / 4), columns / 4);
  if (threadIdx.x == 0) sums[blockIdx.x] += sum;
}

extern "C" __global__ void __launch_bounds__(1024)
    few_long_rows_fixed(const float4 *__restrict__ x, float *__restrict__ sums, int columns) {
  const int part = columns / 4 / gridDim.y;
  const float sum = sum_of(x + (size_t)blockIdx.x * (columns / 4) + blockIdx.y * part, part);
  if (threadIdx.x == 0) atomicAdd(&sums[blockIdx.x], sum);
}

// orbit_tiles (tail-wave): 768 threads with 24 chains each fill an SM with one block; 140 blocks on 132 SMs take as long as
// 264 would, 404 as long as 528.
// Fixed: blocks of 96 threads.
template <int THREADS>
__device__ inline void orbits(const float *x, float *y, float b, int steps) {
  const size_t first = (size_t)blockIdx.x * THREADS * 24 + threadIdx.x;
  float s[24], v[24];
#pragma unroll
  for (int j = 0; j < 24; j++) s[j] = v[j] = x[first + j * THREADS];
#pragma unroll 2
  for (int k = 0; k < steps; k++) {
#pragma unroll
    for (int j = 0; j < 24; j++) s[j] = s[j] * v[j] - b;
  }
#pragma unroll
  for (int j = 0; j < 24; j++) y[first + j * THREADS] = s[j];
}

extern "C" __global__ void __launch_bounds__(768, 1)
    orbit_tiles(const float *__restrict__ x, float *__restrict__ y, float b, int steps) {
  orbits<768>(x, y, b, steps);
}

extern "C" __global__ void __launch_bounds__(96)
    orbit_tiles_fixed(const float *__restrict__ x, float *__restrict__ y, float b, int steps) {
  orbits<96>(x, y, b, steps);
}

// longer_rows (load-imbalance): row r needs r + 1 units of work and a block has a row: of 264 blocks, two an SM, those of the
// last SM have 1.5 times the average.
// Fixed: a block takes halves of a short row and of a long one.
__device__ inline float work(float v, int count) {
  float a = v, b = v, c = v, d = v;
#pragma unroll 4
  for (int k = 0; k < count; k++) {
    a = a * 0.5f + v;
    b = b * 0.25f - v;
    c = c * 0.75f + v;
    d = d * 0.125f - v;
  }
  return a + b + (c + d);
}

extern "C" __global__ void __launch_bounds__(1024, 2)
    longer_rows(const float *__restrict__ x, float *__restrict__ y, int unit) {
  const int row = blockIdx.x, i = row * 1024 + threadIdx.x;
  y[i] = work(x[i], (row + 1) * unit);
}

extern "C" __global__ void __launch_bounds__(1024, 2)
    longer_rows_fixed(const float *__restrict__ x, float *__restrict__ y, int unit) {
  const int row = threadIdx.x < 512 ? blockIdx.x : gridDim.x - 1 - blockIdx.x, i = row * 1024 + threadIdx.x;
  y[i] = work(x[i], (row + 1) * unit);
}

// level_per_launch (launch-bound): a sum by 12 halvings, one launch each.
// Fixed: one launch of one block takes all halvings in shared memory.
extern "C" __global__ void __launch_bounds__(256) level_per_launch(float *__restrict__ y, int half) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < half) y[i] += y[i + half];
}

extern "C" __global__ void __launch_bounds__(1024) level_per_launch_fixed(float *__restrict__ y, int n) {
  __shared__ float numbers[8192];
  for (int i = threadIdx.x; i < n; i += 1024) numbers[i] = y[i];
  __syncthreads();
  for (int level = 0, half = n / 2; level < 12; level++, half /= 2) {
    for (int i = threadIdx.x; i < half; i += 1024) numbers[i] += numbers[i + half];
    __syncthreads();
  }
  for (int i = threadIdx.x; i < n / 2; i += 1024) y[i] = numbers[i];
}
