// shared-occupancy: so much shared memory a block that too few warps are there to hide the latency of loads.
#include "plant.cuh"

extern __shared__ float dynamic[];

// oversized_buffer: launched with 100 KB of shared memory, of which 512 bytes are used: two blocks of 4 warps an SM, each
// warp with one load under way.
// Fixed: the same kernel launched with 512 bytes: 16 blocks an SM.
extern "C" __global__ void __launch_bounds__(128)
    oversized_buffer(const unsigned *__restrict__ table, float *__restrict__ y, unsigned mask, int steps) {
  const unsigned i = blockIdx.x * 128 + threadIdx.x;
  unsigned chunk = first_chunk(i / 32, mask);
  float sum = 0, value;
#pragma unroll 1
  for (int k = 0; k < steps; k++) {
    chunk = next_chunk(table, chunk, mask, value);
    dynamic[threadIdx.x] = value;
    __syncwarp();
    sum = sum * 0.5f + dynamic[threadIdx.x ^ 1];
    __syncwarp();
  }
  y[i] = sum;
}

// whole_history: all 128 values that a thread has seen are kept, 64 KB a block, though only the last 8 are used again:
// three blocks of 4 warps an SM.
// Fixed: a ring of 8 values, 4 KB a block: 16 blocks an SM.
template <int KEPT>
__device__ inline void remember(const unsigned *table, float *y, unsigned mask, int steps) {
  const unsigned i = blockIdx.x * 128 + threadIdx.x;
  unsigned chunk = first_chunk(i / 32, mask);
  float sum = 0, value;
  for (int k = 0; k < 8; k++) dynamic[k * 128 + threadIdx.x] = 0;
#pragma unroll 1
  for (int k = 0; k < steps; k++) {
    chunk = next_chunk(table, chunk, mask, value);
    sum = sum * 0.25f + dynamic[(k + 1) % KEPT * 128 + threadIdx.x] + value;
    dynamic[(k + 8) % KEPT * 128 + threadIdx.x] = value;
  }
  y[i] = sum;
}

extern "C" __global__ void __launch_bounds__(128)
    whole_history(const unsigned *__restrict__ table, float *__restrict__ y, unsigned mask, int steps) {
  remember<128>(table, y, mask, steps);
}

extern "C" __global__ void __launch_bounds__(128)
    whole_history_fixed(const unsigned *__restrict__ table, float *__restrict__ y, unsigned mask, int steps) {
  remember<8>(table, y, mask, steps);
}
