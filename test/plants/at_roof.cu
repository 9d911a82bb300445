// at-roof: nothing to gain. The twins are the same kernels in blocks of another size: they take as long.
#include "plant.cuh"

// polynomial: 8 independent chains of FMAs a thread, 2048 in all, for 8 bytes: the FMA pipe issues in every cycle.
template <int THREADS>
__device__ inline void chains(const float4 *x, float4 *y, float b, int steps) {
  const size_t i = (size_t)blockIdx.x * THREADS * 2 + threadIdx.x;
  const float4 u = x[i], v = x[i + THREADS];
  const float in[8] = {u.x, u.y, u.z, u.w, v.x, v.y, v.z, v.w};
  float s[8];
#pragma unroll
  for (int j = 0; j < 8; j++) s[j] = in[j];
#pragma unroll 8
  for (int k = 0; k < steps; k++) {
#pragma unroll
    for (int j = 0; j < 8; j++) s[j] = s[j] * in[j] + b;
  }
  y[i] = make_float4(s[0], s[1], s[2], s[3]);
  y[i + THREADS] = make_float4(s[4], s[5], s[6], s[7]);
}

extern "C" __global__ void __launch_bounds__(256)
    polynomial(const float4 *__restrict__ x, float4 *__restrict__ y, float b, int steps) {
  chains<256>(x, y, b, steps);
}

extern "C" __global__ void __launch_bounds__(128)
    polynomial_fixed(const float4 *__restrict__ x, float4 *__restrict__ y, float b, int steps) {
  chains<128>(x, y, b, steps);
}

// xorshift: shifts and exclusive ors on the integer pipe, 64 lanes an SM: 4 independent chains a thread.
template <int THREADS>
__device__ inline void shuffle_bits(const uint4 *x, uint4 *y, int steps) {
  const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
  const uint4 v = x[i];
  unsigned s[4] = {v.x, v.y, v.z, v.w};
#pragma unroll 8
  for (int k = 0; k < steps; k++) {
#pragma unroll
    for (int j = 0; j < 4; j++) {
      s[j] ^= s[j] << 13;
      s[j] ^= s[j] >> 17;
      s[j] ^= s[j] << 5;
    }
  }
  y[i] = make_uint4(s[0], s[1], s[2], s[3]);
}

extern "C" __global__ void __launch_bounds__(256) xorshift(const uint4 *__restrict__ x, uint4 *__restrict__ y, int steps) {
  shuffle_bits<256>(x, y, steps);
}

extern "C" __global__ void __launch_bounds__(512) xorshift_fixed(const uint4 *__restrict__ x, uint4 *__restrict__ y, int steps) {
  shuffle_bits<512>(x, y, steps);
}
