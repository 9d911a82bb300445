// uncoalesced-loads: the lanes of a warp read words that lie in different sectors.
#include "plant.cuh"

// transpose_read: a warp reads 32 rows of one column, 32 sectors of 32 bytes for 128 bytes. The n² words cross the L2
// as 32 n² bytes instead of 4 n²: at 8192² that is 2.1 GB against 0.5 GB of DRAM traffic in all.
// Fixed: tiles pass through shared memory, so that reads and writes are both 4 sectors a request.
extern "C" __global__ void __launch_bounds__(256)
    transpose_read(const float *__restrict__ x, float *__restrict__ y, int n) {
  const int row = blockIdx.x * 256 + threadIdx.x, column = blockIdx.y;
  y[(size_t)column * n + row] = x[(size_t)row * n + column];
}

extern "C" __global__ void __launch_bounds__(256)
    transpose_read_fixed(const float *__restrict__ x, float *__restrict__ y, int n) {
  __shared__ float tile[32][33];
  const int column = blockIdx.x * 32, row = blockIdx.y * 32;
#pragma unroll
  for (int i = threadIdx.y; i < 32; i += 8) tile[i][threadIdx.x] = x[(size_t)(row + i) * n + column + threadIdx.x];
  __syncthreads();
#pragma unroll
  for (int i = threadIdx.y; i < 32; i += 8) y[(size_t)(column + i) * n + row + threadIdx.x] = tile[threadIdx.x][i];
}

// row_per_thread: lanes walk along 32 rows of 64 words, so every request looks up 32 lines, one a cycle. 1 Mi rows are
// 2.1 M requests, 508,000 cycles of each L1: 257 µs, where the 256 MiB need 62 µs of DRAM.
// Fixed: 16 lanes share a row and read 16 bytes each: 16 sectors of 512 bytes a request.
extern "C" __global__ void __launch_bounds__(256)
    row_per_thread(const float *__restrict__ x, float *__restrict__ sums, int columns) {
  const size_t row = blockIdx.x * 256 + threadIdx.x;
  float sum = 0;
  for (int c = 0; c < columns; c++) sum += x[row * columns + c];
  sums[row] = sum;
}

extern "C" __global__ void __launch_bounds__(256)
    row_per_thread_fixed(const float4 *__restrict__ x, float *__restrict__ sums, int columns) {
  const int lane = threadIdx.x % 16;
  const size_t row = blockIdx.x * 64 + threadIdx.x / 16 * 4; // the first of four
  float sum[4] = {};
  for (int c = lane; c < columns / 4; c += 16) {
    float4 v[4];
#pragma unroll
    for (int i = 0; i < 4; i++) v[i] = x[(row + i) * (columns / 4) + c];
#pragma unroll
    for (int i = 0; i < 4; i++) sum[i] += v[i].x + v[i].y + (v[i].z + v[i].w);
  }
#pragma unroll
  for (int i = 0; i < 4; i++) {
#pragma unroll
    for (int offset = 8; offset > 0; offset /= 2) sum[i] += __shfl_xor_sync(0xffffffff, sum[i], offset);
  }
  const float own = lane == 0 ? sum[0] : lane == 1 ? sum[1] : lane == 2 ? sum[2] : sum[3];
  if (lane < 4) sums[row + lane] = own;
}
