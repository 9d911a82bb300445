// bank-conflicts: the lanes of a warp use words of shared memory that lie in the same bank.
#include "plant.cuh"

// transpose_unpadded: columns of a tile with rows of 32 words lie in one bank, so a read takes 32 wavefronts. At 4096²
// that is 127,000 cycles of every SM (64 µs), where DRAM needs 31 µs.
// Fixed: rows of 33 words.
template <int WIDTH>
__device__ inline void transpose_tile(const float *x, float *y, int n) {
  __shared__ float tile[32][WIDTH];
  const int column = blockIdx.x * 32, row = blockIdx.y * 32;
#pragma unroll
  for (int i = threadIdx.y; i < 32; i += 8) tile[i][threadIdx.x] = x[(size_t)(row + i) * n + column + threadIdx.x];
  __syncthreads();
#pragma unroll
  for (int i = threadIdx.y; i < 32; i += 8) y[(size_t)(column + i) * n + row + threadIdx.x] = tile[threadIdx.x][i];
}

extern "C" __global__ void __launch_bounds__(256)
    transpose_unpadded(const float *__restrict__ x, float *__restrict__ y, int n) {
  transpose_tile<32>(x, y, n);
}

extern "C" __global__ void __launch_bounds__(256)
    transpose_unpadded_fixed(const float *__restrict__ x, float *__restrict__ y, int n) {
  transpose_tile<33>(x, y, n);
}

// delay_lines: every thread has a ring of 32 words in shared memory and all lanes are at the same place of theirs: one
// bank. 3 accesses of 32 wavefronts a step against 3; 64 steps of 429 Ki threads are 640,000 cycles an SM.
// Fixed: word k of all rings lie side by side.
template <int PLACE, int THREAD>
__device__ inline void delay(const float *x, float *y, int steps) {
  __shared__ float ring[32 * 128];
  const size_t i = blockIdx.x * 128 + threadIdx.x;
  const int own = threadIdx.x * THREAD;
  const float in = x[i];
  float v = in;
  for (int k = 0; k < 32; k++) ring[own + k * PLACE] = 0;
  for (int k = 0; k < steps; k++) {
    v = in + 0.5f * ring[own + (k + 25) % 32 * PLACE] - 0.25f * ring[own + (k + 15) % 32 * PLACE];
    ring[own + k % 32 * PLACE] = v;
  }
  y[i] = v;
}

extern "C" __global__ void __launch_bounds__(128)
    delay_lines(const float *__restrict__ x, float *__restrict__ y, int steps) {
  delay<1, 32>(x, y, steps);
}

extern "C" __global__ void __launch_bounds__(128)
    delay_lines_fixed(const float *__restrict__ x, float *__restrict__ y, int steps) {
  delay<128, 1>(x, y, steps);
}
