// load-imbalance: some blocks have much more to do than others.
#include "plant.cuh"

// growing_ranges: number i is compared with m (i / n)² sources, and a block has neighbouring numbers: of 264 blocks, two
// an SM, the last SM has 1.9 times the average.
// Fixed: a block takes every 264th group of 32 numbers, and its warps share the sources of each group.
__device__ inline int count_of(int group, int m, float scale) {
  const float share = group * scale;
  return (int)(share * share * m) / 4; // the same for a whole warp
}

__device__ inline float near(float4 s, float own) {
  return fmaxf(1 - (s.x - own) * (s.x - own), 0) + fmaxf(1 - (s.y - own) * (s.y - own), 0) +
         (fmaxf(1 - (s.z - own) * (s.z - own), 0) + fmaxf(1 - (s.w - own) * (s.w - own), 0));
}

extern "C" __global__ void __launch_bounds__(1024, 2)
    growing_ranges(const float *__restrict__ x, const float4 *__restrict__ sources, float *__restrict__ y, int m,
                   float scale) {
  const int group = blockIdx.x * 32 + threadIdx.x / 32;
  const int i = group * 32 + threadIdx.x % 32;
  const int count = count_of(group, m, scale);
  const float own = x[i];
  float sum = 0;
  for (int k = 0; k < count; k++) sum += near(sources[k], own);
  y[i] = sum;
}

extern "C" __global__ void __launch_bounds__(1024, 2)
    growing_ranges_fixed(const float *__restrict__ x, const float4 *__restrict__ sources, float *__restrict__ y, int m,
                         float scale) {
  __shared__ float parts[2][32][32]; // in turns, so that a group needs one barrier
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  float next = x[blockIdx.x * 32 + lane];
  for (int g = 0; g < 32; g++) {
    const int group = g * gridDim.x + blockIdx.x;
    const int count = count_of(group, m, scale);
    const float own = next;
    if (g < 31) next = x[(group + gridDim.x) * 32 + lane];
    float sum = 0;
    for (int k = warp; k < count; k += 32) sum += near(sources[k], own);
    parts[g % 2][warp][lane] = sum;
    __syncthreads();
    if (warp == g) {
      sum = 0;
#pragma unroll 8
      for (int w = 0; w < 32; w++) sum += parts[g % 2][w][lane];
      y[group * 32 + lane] = sum;
    }
  }
}

// Of 1024 rows, number 512 has `giant` pieces of 256 numbers; the others have one.
__device__ inline size_t piece_of_row(int row, int giant) {
  return (size_t)row + (size_t)((row + 511) / 1024) * (giant - 1); // giants before the row
}

// giant_rows: a block sums a row. One in 1024 rows has thousands of pieces, which one block reads while the others have
// long ended.
// Fixed: a warp sums a piece; those of one row meet by atomic addition.
extern "C" __global__ void __launch_bounds__(256)
    giant_rows(const float *__restrict__ x, float *__restrict__ sums, int giant) {
  const int row = blockIdx.x, pieces = row % 1024 == 512 ? giant : 1;
  const float *from = x + piece_of_row(row, giant) * 256 + threadIdx.x;
  float sum = 0;
#pragma unroll 4
  for (int k = 0; k < pieces; k++) sum += from[(size_t)k * 256];
  sum = block_sum(sum);
  if (threadIdx.x == 0) sums[row] += sum;
}

extern "C" __global__ void __launch_bounds__(256)
    giant_rows_fixed(const float *__restrict__ x, float *__restrict__ sums, int giant) {
  const int piece = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
  const int period = 1023 + giant, within = piece % period;
  const int row = piece / period * 1024 + (within < 512 ? within : within < 512 + giant ? 512 : within - giant + 1);
  const float4 *from = (const float4 *)(x + (size_t)piece * 256);
  const float4 a = from[lane], b = from[lane + 32];
  const float sum = warp_sum(a.x + a.y + (a.z + a.w) + (b.x + b.y + (b.z + b.w)));
  if (lane == 0) atomicAdd(&sums[row], sum);
}
