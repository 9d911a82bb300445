// atomics-contention: atomic additions to few addresses queue up at one place of the L2.
#include "plant.cuh"

// one_total: every 16 numbers end in an atomic addition to the same word: 2 M of them, one after the other, where the
// 128 MiB take 31 µs.
// Fixed: a block adds up first: one atomic addition for 16,384 numbers.
__device__ inline float sum_of_16(const float4 *x, size_t i, size_t stride) {
  float4 v[4];
#pragma unroll
  for (int j = 0; j < 4; j++) v[j] = x[i + j * stride];
  float sum = 0;
#pragma unroll
  for (int j = 0; j < 4; j++) sum += v[j].x + v[j].y + (v[j].z + v[j].w);
  return sum;
}

extern "C" __global__ void __launch_bounds__(256) one_total(const float4 *__restrict__ x, float *__restrict__ total) {
#pragma unroll 1
  for (int k = 0; k < 4; k++) atomicAdd(total, sum_of_16(x, ((size_t)blockIdx.x * 4 + k) * 1024 + threadIdx.x, 256));
}

extern "C" __global__ void __launch_bounds__(256) one_total_fixed(const float4 *__restrict__ x, float *__restrict__ total) {
  float sum = 0;
#pragma unroll 1
  for (int k = 0; k < 4; k++) sum += sum_of_16(x, ((size_t)blockIdx.x * 4 + k) * 1024 + threadIdx.x, 256);
  sum = block_sum(sum);
  if (threadIdx.x == 0) atomicAdd(total, sum);
}

// rare_bins: one number in 16 is counted, in one of 16 bins that lie in two sectors: 2 M atomic additions for 32 Mi
// numbers (128 MiB, 31 µs).
// Fixed: a block counts in shared memory and adds its 16 counts at the end.
extern "C" __global__ void __launch_bounds__(256) rare_bins(const int4 *__restrict__ x, int *__restrict__ bins) {
#pragma unroll 4
  for (int k = 0; k < 16; k++) {
    const int4 v = x[((size_t)blockIdx.x * 16 + k) * 256 + threadIdx.x];
    if (v.x < 16) atomicAdd(&bins[v.x], 1);
    if (v.y < 16) atomicAdd(&bins[v.y], 1);
    if (v.z < 16) atomicAdd(&bins[v.z], 1);
    if (v.w < 16) atomicAdd(&bins[v.w], 1);
  }
}

extern "C" __global__ void __launch_bounds__(256) rare_bins_fixed(const int4 *__restrict__ x, int *__restrict__ bins) {
  __shared__ int counts[16];
  if (threadIdx.x < 16) counts[threadIdx.x] = 0;
  __syncthreads();
#pragma unroll 4
  for (int k = 0; k < 16; k++) {
    const int4 v = x[((size_t)blockIdx.x * 16 + k) * 256 + threadIdx.x];
    if (v.x < 16) atomicAdd(&counts[v.x], 1);
    if (v.y < 16) atomicAdd(&counts[v.y], 1);
    if (v.z < 16) atomicAdd(&counts[v.z], 1);
    if (v.w < 16) atomicAdd(&counts[v.w], 1);
  }
  __syncthreads();
  if (threadIdx.x < 16) atomicAdd(&bins[threadIdx.x], counts[threadIdx.x]);
}
