// sfu-bound: the special-function unit, with 16 lanes an SM, is the limit.
#include "plant.cuh"

// harmonics: a sine for each of 48 harmonics, 8 cycles a warp and scheduler each: 384 cycles, 192 µs for 16 Mi numbers.
// Fixed: sin((k+1)x) = 2 cos(x) sin(kx) - sin((k-1)x): one sine, one cosine, 96 FMAs.
extern "C" __global__ void __launch_bounds__(256) harmonics(const float *__restrict__ x, float *__restrict__ y) {
  const size_t i = blockIdx.x * 256 + threadIdx.x;
  const float v = x[i];
  float sum = 0;
#pragma unroll
  for (int k = 1; k <= 48; k++) sum += __sinf(k * v) * (1.f / k);
  y[i] = sum;
}

extern "C" __global__ void __launch_bounds__(256) harmonics_fixed(const float *__restrict__ x, float *__restrict__ y) {
  const size_t i = blockIdx.x * 256 + threadIdx.x;
  const float v = x[i];
  const float twice = 2 * __cosf(v);
  float before = 0, s = __sinf(v), sum = s;
#pragma unroll
  for (int k = 2; k <= 48; k++) {
    const float next = twice * s - before;
    before = s;
    s = next;
    sum += s * (1.f / k);
  }
  y[i] = sum;
}

// powers_by_logs: 32 powers, each an exponential of a multiple of the logarithm: 264 cycles a warp and scheduler.
// Fixed: Horner, 32 FMAs; DRAM becomes the limit.
extern "C" __global__ void __launch_bounds__(256) powers_by_logs(const float *__restrict__ x, float *__restrict__ y) {
  const size_t i = blockIdx.x * 256 + threadIdx.x;
  const float v = x[i];
  float sum = 0;
#pragma unroll
  for (int k = 1; k <= 32; k++) sum += __powf(v, k) * (1.f / k);
  y[i] = sum;
}

extern "C" __global__ void __launch_bounds__(256) powers_by_logs_fixed(const float *__restrict__ x, float *__restrict__ y) {
  const size_t i = blockIdx.x * 256 + threadIdx.x;
  const float v = x[i];
  float sum = 0;
#pragma unroll
  for (int k = 32; k >= 1; k--) sum = (sum + 1.f / k) * v;
  y[i] = sum;
}
