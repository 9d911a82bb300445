// A held-out face of instruction-cache.
#include "plant.cuh"

// fitted_curves: 64 curves of 512 coefficients, each a function of its own with the coefficients in its instructions: 8 KB, 512 KB
// in all. A block evaluates 16 of them, from another one on.
// Fixed: one function that makes the coefficients: two instructions for one.
template <unsigned CURVE>
__device__ inline float curve(float v, float at) {
#pragma unroll
  for (int i = 0; i < 512; i++) v = v * at + (CURVE * 512 + i) * (1 / 65536.f);
  return v;
}

__device__ inline float curve_of(unsigned number, float v, float at) {
  const float first = number * 512 * (1 / 65536.f);
#pragma unroll
  for (int i = 0; i < 512; i++) v = v * at + (first + i * (1 / 65536.f));
  return v;
}

__device__ inline unsigned first_curve(unsigned block) { return block * 2654435761u >> 26; }

#define FOUR(MACRO, N) MACRO(N) MACRO(N + 1) MACRO(N + 2) MACRO(N + 3)
#define SIXTEEN(MACRO, N) FOUR(MACRO, N) FOUR(MACRO, N + 4) FOUR(MACRO, N + 8) FOUR(MACRO, N + 12)

extern "C" __global__ void __launch_bounds__(128) fitted_curves(const float *__restrict__ x, float *__restrict__ y) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  const float at = x[i];
  float v = 0;
#pragma unroll 1
  for (int k = 0; k < 16; k++) {
    switch (first_curve(blockIdx.x) + k & 63) {
#define CURVE(N)             \
  case N:                    \
    v = curve<(N)>(v, at);   \
    break;
      SIXTEEN(CURVE, 0)
      SIXTEEN(CURVE, 16)
      SIXTEEN(CURVE, 32)
      SIXTEEN(CURVE, 48)
    }
  }
  y[i] = v;
}

extern "C" __global__ void __launch_bounds__(128) fitted_curves_fixed(const float *__restrict__ x, float *__restrict__ y) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  const float at = x[i];
  float v = 0;
#pragma unroll 1
  for (int k = 0; k < 16; k++) v = curve_of(first_curve(blockIdx.x) + k & 63, v, at);
  y[i] = v;
}
