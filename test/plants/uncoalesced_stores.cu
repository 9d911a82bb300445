// uncoalesced-stores: the lanes of a warp write words that lie in different sectors.
#include "plant.cuh"

// transpose_write: a warp writes one column of 32 rows, 32 sectors with 4 bytes each. At 8192² the L2 takes 67 M partial
// sectors instead of 8.4 M whole ones.
// Fixed: tiles pass through shared memory, so that reads and writes are both 4 sectors a request.
extern "C" __global__ void __launch_bounds__(256)
    transpose_write(const float *__restrict__ x, float *__restrict__ y, int n) {
  const int column = blockIdx.x * 256 + threadIdx.x, row = blockIdx.y;
  y[(size_t)column * n + row] = x[(size_t)row * n + column];
}

extern "C" __global__ void __launch_bounds__(256)
    transpose_write_fixed(const float *__restrict__ x, float *__restrict__ y, int n) {
  __shared__ float tile[32][33];
  const int column = blockIdx.x * 32, row = blockIdx.y * 32;
#pragma unroll
  for (int i = threadIdx.y; i < 32; i += 8) tile[i][threadIdx.x] = x[(size_t)(row + i) * n + column + threadIdx.x];
  __syncthreads();
#pragma unroll
  for (int i = threadIdx.y; i < 32; i += 8) y[(size_t)(column + i) * n + row + threadIdx.x] = tile[threadIdx.x][i];
}

// expand_rows: a thread writes the 32 products of its number one after the other: 32 sectors a request, 8 times as many
// as needed. 2 Mi numbers are 67 M partial sectors; their 256 MiB take 62 µs of DRAM.
// Fixed: a thread writes 4 neighbouring products with one store of 16 bytes.
extern "C" __global__ void __launch_bounds__(256)
    expand_rows(const float *__restrict__ x, const float *__restrict__ w, float *__restrict__ y) {
  const size_t i = blockIdx.x * 256 + threadIdx.x;
  const float v = x[i];
#pragma unroll 8
  for (int k = 0; k < 32; k++) y[i * 32 + k] = v * w[k];
}

extern "C" __global__ void __launch_bounds__(256)
    expand_rows_fixed(const float *__restrict__ x, const float4 *__restrict__ w, float4 *__restrict__ y) {
  const size_t i = (size_t)blockIdx.x * 256 + threadIdx.x;
  const float v = x[i / 8];
  const float4 k = w[i % 8];
  y[i] = make_float4(v * k.x, v * k.y, v * k.z, v * k.w);
}
