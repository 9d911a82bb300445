// A second face of instruction-cache.
#include "plant.cuh"

template <int STEPS>
__device__ inline float straight(float s, float v) {
#pragma unroll
  for (int j = 0; j < STEPS; j++) s = s * v + (j & 255) / 256.f;
  return s;
}

// unrolled_loop: the body of the only loop is 16,384 steps, which all warps go through: 160 KB of code, as the
// compiler makes a function of a part of them. An SM's cache holds 128 KB.
// Fixed: a body of 256 steps, 4 KB.
extern "C" __global__ void __launch_bounds__(128) unrolled_loop(const float *__restrict__ x, float *__restrict__ y, int times) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  const float v = x[i];
  float s = v;
#pragma unroll 1
  for (int k = 0; k < times; k++) {
    s = straight<2048>(straight<2048>(straight<2048>(straight<2048>(s, v), v), v), v);
    s = straight<2048>(straight<2048>(straight<2048>(straight<2048>(s, v), v), v), v);
  }
  y[i] = s;
}

extern "C" __global__ void __launch_bounds__(128) unrolled_loop_fixed(const float *__restrict__ x, float *__restrict__ y, int times) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  const float v = x[i];
  float s = v;
#pragma unroll 1
  for (int k = 0; k < times * 64; k++) s = straight<256>(s, v);
  y[i] = s;
}
