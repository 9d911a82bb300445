// latency-bound: warps wait for loads, and too few loads are under way to fill the memory's pipe.
#include "plant.cuh"

// one_load_at_a_time: with every warp there that fits, a load of 4 bytes each is 8 KB an SM under way: 1.5 TB/s at 700 ns.
// Fixed: four loads of 16 bytes before the first is used.
extern "C" __global__ void __launch_bounds__(256)
    one_load_at_a_time(const float *__restrict__ x, float *__restrict__ sums, int per_block) {
  const float *from = x + (size_t)blockIdx.x * per_block;
  float sum = 0;
#pragma unroll 1
  for (int i = threadIdx.x; i < per_block; i += 256) sum += from[i];
  sum = block_sum(sum);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

extern "C" __global__ void __launch_bounds__(256)
    one_load_at_a_time_fixed(const float4 *__restrict__ x, float *__restrict__ sums, int per_block) {
  const float4 *from = x + (size_t)blockIdx.x * per_block / 4 + threadIdx.x;
  float sum[4] = {};
#pragma unroll 1
  for (int i = 0; i < per_block / 4; i += 1024) {
    float4 v[4];
#pragma unroll
    for (int j = 0; j < 4; j++) v[j] = from[i + j * 256];
#pragma unroll
    for (int j = 0; j < 4; j++) sum[j] += v[j].x + v[j].y + (v[j].z + v[j].w);
  }
  const float all = block_sum(sum[0] + sum[1] + (sum[2] + sum[3]));
  if (threadIdx.x == 0) sums[blockIdx.x] = all;
}

// embedding_bag: a warp adds 32 rows of 128 bytes. Each step waits for the row's number, then for the row: one line a
// warp under way, 1 TB/s.
// Fixed: all 32 numbers come with one load, and 8 rows are under way.
extern "C" __global__ void __launch_bounds__(256)
    embedding_bag(const float *__restrict__ table, const unsigned *__restrict__ rows, float *__restrict__ y, unsigned mask) {
  const int bag = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
  float sum = 0;
#pragma unroll 1
  for (int k = 0; k < 32; k++) {
    const size_t row = rows[bag * 32 + k] & mask;
    sum += table[row * 32 + lane];
  }
  y[bag * 32 + lane] = sum;
}

extern "C" __global__ void __launch_bounds__(256)
    embedding_bag_fixed(const float *__restrict__ table, const unsigned *__restrict__ rows, float *__restrict__ y, unsigned mask) {
  const int bag = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
  const unsigned own = rows[bag * 32 + lane] & mask;
  float sum = 0;
#pragma unroll 1
  for (int k = 0; k < 32; k += 8) {
    float v[8];
#pragma unroll
    for (int j = 0; j < 8; j++) v[j] = table[(size_t)__shfl_sync(0xffffffff, own, k + j) * 32 + lane];
#pragma unroll
    for (int j = 0; j < 8; j++) sum += v[j];
  }
  y[bag * 32 + lane] = sum;
}
