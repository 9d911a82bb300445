// register-occupancy: so many registers a thread that too few warps are there to hide the latency of loads.
#include "plant.cuh"

// Four interleaved Horner chains over 128 coefficients.
#define HORNER(COEFFICIENT)                                   \
  float s[4] = {};                                            \
  _Pragma("unroll") for (int j = 0; j < 128; j += 4) {        \
    _Pragma("unroll") for (int i = 0; i < 4; i++)             \
      s[i] = s[i] * value + COEFFICIENT(j + i);               \
  }                                                           \
  sum += s[0] + s[1] + (s[2] + s[3])

// register_coefficients: 128 coefficients stay in registers, about 170 a thread, 8 warps an SM. A step is one load that
// the next one waits for (300 to 700 cycles) and 128 FMAs: two warps a scheduler keep it busy for a third of the time.
// Fixed: half of the coefficients come from shared memory, 4 a load; 16 warps an SM. All of them from there would keep
// its pipe busy for twice as long as the FMA pipe: one load of 16 bytes takes two passes.
extern "C" __global__ void __launch_bounds__(256)
    register_coefficients(const unsigned *__restrict__ table, const float *__restrict__ c, float *__restrict__ y,
                          unsigned mask, int steps) {
  float kept[128];
#pragma unroll
  for (int j = 0; j < 128; j++) kept[j] = c[j];
  const unsigned i = blockIdx.x * 256 + threadIdx.x;
  unsigned chunk = first_chunk(i / 32, mask);
  float sum = 0, value;
#pragma unroll 1
  for (int k = 0; k < steps; k++) {
    chunk = next_chunk(table, chunk, mask, value);
#define KEPT(j) kept[j]
    HORNER(KEPT);
  }
  y[i] = sum;
}

extern "C" __global__ void __launch_bounds__(256, 2)
    register_coefficients_fixed(const unsigned *__restrict__ table, const float *__restrict__ c, float *__restrict__ y,
                                unsigned mask, int steps) {
  __shared__ __align__(16) float shared[64];
  if (threadIdx.x < 64) shared[threadIdx.x] = c[64 + threadIdx.x];
  __syncthreads();
  float kept[64];
#pragma unroll
  for (int j = 0; j < 64; j++) kept[j] = c[j];
  const unsigned i = blockIdx.x * 256 + threadIdx.x;
  unsigned chunk = first_chunk(i / 32, mask);
  float sum = 0, value;
#pragma unroll 1
  for (int k = 0; k < steps; k++) {
    chunk = next_chunk(table, chunk, mask, value);
    asm volatile("" ::: "memory"); // the coefficients are not to be carried over to the next step
#define HALF(j) ((j) < 64 ? kept[(j) % 64] : shared[(j) % 64])
    HORNER(HALF);
  }
  y[i] = sum;
}

// cold_path: a branch that these numbers never take keeps 200 numbers in registers. The whole kernel gets that many: 8
// warps an SM walk through the table where 64 could.
// Fixed: the branch works on an array in local memory, which costs nothing while it is not taken.
template <bool ROLLED>
__device__ inline float walk(const unsigned *table, unsigned warp, unsigned mask, int steps) {
  constexpr int COUNT = 200;
  unsigned chunk = first_chunk(warp, mask);
  float sum = 0, value;
#pragma unroll 1
  for (int k = 0; k < steps; k++) {
    chunk = next_chunk(table, chunk, mask, value);
    sum = sum * 0.5f + value;
    if (sum > 4) { // values are below 1, so sums are below 2
      float kept[COUNT];
#pragma unroll(ROLLED ? 1 : COUNT)
      for (int j = 0; j < COUNT; j++) kept[j] = table[(chunk + j & mask) * 32] * value;
#pragma unroll 1
      for (int r = 0; r < 8; r++) {
#pragma unroll(ROLLED ? 1 : COUNT)
        for (int j = 0; j < COUNT; j++) kept[j] = kept[j] * sum + kept[(j + 37) % COUNT];
      }
#pragma unroll(ROLLED ? 1 : COUNT)
      for (int j = 0; j < COUNT; j++) sum += kept[j];
    }
  }
  return sum;
}

extern "C" __global__ void __launch_bounds__(256)
    cold_path(const unsigned *__restrict__ table, float *__restrict__ y, unsigned mask, int steps) {
  const unsigned i = blockIdx.x * 256 + threadIdx.x;
  y[i] = walk<false>(table, i / 32, mask, steps);
}

extern "C" __global__ void __launch_bounds__(256)
    cold_path_fixed(const unsigned *__restrict__ table, float *__restrict__ y, unsigned mask, int steps) {
  const unsigned i = blockIdx.x * 256 + threadIdx.x;
  y[i] = walk<true>(table, i / 32, mask, steps);
}
