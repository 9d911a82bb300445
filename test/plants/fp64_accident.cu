// fp64-accident: double arithmetic where nobody meant it.
#include "plant.cuh"

// double_literals: literals without f make every step two conversions (XU, 16 lanes an SM) and two double FMAs (64).
// 24 steps are about 480 cycles a warp and scheduler against 48: at 16 Mi numbers 240 µs, where DRAM needs 31 µs.
// Fixed: the f is there.
extern "C" __global__ void __launch_bounds__(256)
    double_literals(const float4 *__restrict__ x, float4 *__restrict__ y) {
  const size_t i = blockIdx.x * 256 + threadIdx.x;
  const float4 v = x[i];
  float4 s = v;
#pragma unroll 4
  for (int k = 0; k < 24; k++) {
    s.x = s.x * 0.97 + 0.013 * v.x;
    s.y = s.y * 0.97 + 0.013 * v.y;
    s.z = s.z * 0.97 + 0.013 * v.z;
    s.w = s.w * 0.97 + 0.013 * v.w;
  }
  y[i] = s;
}

extern "C" __global__ void __launch_bounds__(256)
    double_literals_fixed(const float4 *__restrict__ x, float4 *__restrict__ y) {
  const size_t i = blockIdx.x * 256 + threadIdx.x;
  const float4 v = x[i];
  float4 s = v;
#pragma unroll 4
  for (int k = 0; k < 24; k++) {
    s.x = s.x * 0.97f + 0.013f * v.x;
    s.y = s.y * 0.97f + 0.013f * v.y;
    s.z = s.z * 0.97f + 0.013f * v.z;
    s.w = s.w * 0.97f + 0.013f * v.w;
  }
  y[i] = s;
}

// double_state: a state declared double keeps the loop on the fp64 pipe, half as wide as the fp32 pipe: 384 steps are
// 768 cycles a warp against 384.
// Fixed: a float.
template <typename T>
__device__ inline void relax(const float4 *x, float4 *y) {
  const size_t i = blockIdx.x * 256 + threadIdx.x;
  const float4 v = x[i];
  T a = v.x, b = v.y, c = v.z, d = v.w;
  const T damp = T(0.75), push = T(v.x * 0.125f);
#pragma unroll 8
  for (int k = 0; k < 96; k++) a = a * damp + push, b = b * damp + push, c = c * damp + push, d = d * damp + push;
  y[i] = make_float4((float)a, (float)b, (float)c, (float)d);
}

extern "C" __global__ void __launch_bounds__(256) double_state(const float4 *__restrict__ x, float4 *__restrict__ y) {
  relax<double>(x, y);
}

extern "C" __global__ void __launch_bounds__(256) double_state_fixed(const float4 *__restrict__ x, float4 *__restrict__ y) {
  relax<float>(x, y);
}
