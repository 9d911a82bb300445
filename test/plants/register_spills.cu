// register-spills: what a thread works on lies in local memory.
#include "plant.cuh"

// Leaky integrators FIRST to FIRST + COUNT of the bank, over one thread's samples: s = decay s + x. Returns their
// weighted sum.
template <int FIRST, int COUNT>
__device__ inline float integrate(const float *x, int n, int steps) {
  float s[COUNT];
#pragma unroll
  for (int j = 0; j < COUNT; j++) s[j] = 0;
#pragma unroll 1
  for (int k = 0; k < steps; k++) {
    const float v = x[(size_t)k * n];
#pragma unroll
    for (int j = 0; j < COUNT; j++) s[j] = s[j] * (1 - 1.f / (2 + FIRST + j)) + v;
  }
  float sum = 0;
#pragma unroll
  for (int j = 0; j < COUNT; j++) sum += s[j] * (1.f / (3 + FIRST + j));
  return sum;
}

// capped_registers: 36 integrators do not fit into the 32 registers that 8 blocks an SM leave; about 24 of them are
// loaded and stored again in every step, 128 bytes of L1 each, against 36 FMAs.
// Fixed: no minimum of blocks, about 50 registers.
extern "C" __global__ void __launch_bounds__(256, 8)
    capped_registers(const float *__restrict__ x, float *__restrict__ y, int n, int steps) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  y[i] = integrate<0, 36>(x + i, n, steps);
}

extern "C" __global__ void __launch_bounds__(256)
    capped_registers_fixed(const float *__restrict__ x, float *__restrict__ y, int n, int steps) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  y[i] = integrate<0, 36>(x + i, n, steps);
}

// too_many_live: 384 integrators in one pass, where a thread can have 255 registers: 130 of them are loaded and stored
// in every step, 2080 requests of the SM's L1 against 768 cycles of FMAs.
// Fixed: four passes of 96; the samples of the later passes come from the caches.
extern "C" __global__ void __launch_bounds__(256)
    too_many_live(const float *__restrict__ x, float *__restrict__ y, int n, int steps) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  y[i] = integrate<0, 384>(x + i, n, steps);
}

extern "C" __global__ void __launch_bounds__(256)
    too_many_live_fixed(const float *__restrict__ x, float *__restrict__ y, int n, int steps) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  y[i] = integrate<0, 96>(x + i, n, steps) + integrate<96, 96>(x + i, n, steps) +
         (integrate<192, 96>(x + i, n, steps) + integrate<288, 96>(x + i, n, steps));
}

// private_histogram: an array of 16 counters that is indexed by data cannot lie in registers. Every sample loads and
// stores local memory, up to 16 lines a request.
// Fixed: the counters of all threads lie side by side in shared memory, each thread's in its own bank.
extern "C" __global__ void __launch_bounds__(128)
    private_histogram(const int *__restrict__ x, int *__restrict__ y, int n, int steps) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  int count[16];
#pragma unroll
  for (int j = 0; j < 16; j++) count[j] = 0;
#pragma unroll 4
  for (int k = 0; k < steps; k++) count[x[(size_t)k * n + i] & 15]++;
#pragma unroll
  for (int j = 0; j < 16; j++) y[(size_t)j * n + i] = count[j];
}

extern "C" __global__ void __launch_bounds__(128)
    private_histogram_fixed(const int *__restrict__ x, int *__restrict__ y, int n, int steps) {
  __shared__ int count[16][128];
  const int i = blockIdx.x * 128 + threadIdx.x;
#pragma unroll
  for (int j = 0; j < 16; j++) count[j][threadIdx.x] = 0;
#pragma unroll 4
  for (int k = 0; k < steps; k++) count[x[(size_t)k * n + i] & 15][threadIdx.x]++;
#pragma unroll
  for (int j = 0; j < 16; j++) y[(size_t)j * n + i] = count[j][threadIdx.x];
}
