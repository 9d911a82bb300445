// l2-bound: data that stay in the L2 are read so often that its bandwidth is the limit.
#include "plant.cuh"

// table_per_query: every query reads all of a table of 8 MiB: 512 queries read 4.3 GB through the L2, 780 µs at 5.5 TB/s,
// for 3 instructions a word and query (190 µs).
// Fixed: a block answers 8 queries with every word that it reads.
template <int QUERIES>
__device__ inline void scan_table(const float4 *table, const float *queries, float *y, int words) {
  const int share = words / 4 / gridDim.x; // float4s
  const float4 *from = table + blockIdx.x * share;
  float q[QUERIES], sum[QUERIES] = {};
#pragma unroll
  for (int j = 0; j < QUERIES; j++) q[j] = queries[blockIdx.y * QUERIES + j];
#pragma unroll 4
  for (int i = threadIdx.x; i < share; i += 256) {
    const float4 t = from[i];
#pragma unroll
    for (int j = 0; j < QUERIES; j++) {
      sum[j] += fmaxf(q[j] - t.x, 0) + fmaxf(q[j] - t.y, 0) + (fmaxf(q[j] - t.z, 0) + fmaxf(q[j] - t.w, 0));
    }
  }
#pragma unroll
  for (int j = 0; j < QUERIES; j++) {
    __syncthreads(); // block_sum is used again
    const float s = block_sum(sum[j]);
    if (threadIdx.x == 0) y[(blockIdx.y * QUERIES + j) * gridDim.x + blockIdx.x] = s;
  }
}

extern "C" __global__ void __launch_bounds__(256)
    table_per_query(const float4 *__restrict__ table, const float *__restrict__ queries, float *__restrict__ y, int words) {
  scan_table<1>(table, queries, y, words);
}

extern "C" __global__ void __launch_bounds__(256)
    table_per_query_fixed(const float4 *__restrict__ table, const float *__restrict__ queries, float *__restrict__ y,
                          int words) {
  scan_table<8>(table, queries, y, words);
}

// state_in_memory: every step loads and stores the state, past the L1. 16 Mi numbers, 32 steps: 4.3 GB through the L2,
// 128 MiB of DRAM.
// Fixed: the state stays in registers between the steps.
__device__ inline float4 advance(float4 s, float a, float b) {
  return make_float4(s.x * a + b, s.y * a + b, s.z * a + b, s.w * a + b);
}

extern "C" __global__ void __launch_bounds__(256) state_in_memory(float4 *__restrict__ y, float a, float b, int steps) {
  float4 *own = y + (size_t)blockIdx.x * 256 + threadIdx.x;
#pragma unroll 1
  for (int k = 0; k < steps; k++) {
    __stcg(own, advance(__ldcg(own), a, b));
    asm volatile("" ::: "memory");
  }
}

extern "C" __global__ void __launch_bounds__(256) state_in_memory_fixed(float4 *__restrict__ y, float a, float b, int steps) {
  float4 *own = y + (size_t)blockIdx.x * 256 + threadIdx.x;
  float4 s = *own;
#pragma unroll 8
  for (int k = 0; k < steps; k++) s = advance(s, a, b);
  *own = s;
}
