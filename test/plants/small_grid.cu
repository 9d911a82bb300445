// small-grid: fewer blocks than the GPU has SMs.
#include "plant.cuh"

// hard_coded_grid: 16 blocks stride over all of x, so 116 of 132 SMs have nothing to do and 16 cannot ask for more than
// a fraction of the DRAM's bandwidth.
// Fixed: the same kernel launched with a block for every 2048 numbers.
extern "C" __global__ void __launch_bounds__(512)
    hard_coded_grid(const float4 *__restrict__ x, float4 *__restrict__ y, float a, float b, int n4) {
  for (int i = blockIdx.x * 512 + threadIdx.x; i < n4; i += gridDim.x * 512) {
    const float4 v = x[i];
    y[i] = make_float4(v.x * a + b, v.y * a + b, v.z * a + b, v.w * a + b);
  }
}

// thread_per_column: 2048 columns give 16 blocks of 128 threads, each of which goes down all rows.
// Fixed: the rows are split into 128 parts, whose sums meet by atomic addition: 2048 blocks.
extern "C" __global__ void __launch_bounds__(128)
    thread_per_column(const float *__restrict__ x, float *__restrict__ sums, int rows, int columns) {
  const int column = blockIdx.x * 128 + threadIdx.x;
  float sum = 0;
#pragma unroll 8
  for (int r = 0; r < rows; r++) sum += x[(size_t)r * columns + column];
  sums[column] += sum;
}

extern "C" __global__ void __launch_bounds__(128)
    thread_per_column_fixed(const float *__restrict__ x, float *__restrict__ sums, int rows, int columns) {
  const int column = blockIdx.x * 128 + threadIdx.x, part = rows / gridDim.y;
  float sum = 0;
#pragma unroll 8
  for (int r = blockIdx.y * part; r < (blockIdx.y + 1) * part; r++) sum += x[(size_t)r * columns + column];
  atomicAdd(&sums[column], sum);
}
