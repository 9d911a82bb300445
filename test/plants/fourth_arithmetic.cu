// Held-out faces: what arithmetic costs.
#include "plant.cuh"

// gated_loudness (fp64-accident): the loudness of five channels, and how far it opens a gate, with constants and functions without
// f, so that logarithm and exponential are those of double.
// Fixed: the f is there.
extern "C" __global__ void __launch_bounds__(256)
    gated_loudness(const float4 *__restrict__ powers, const float *__restrict__ centre, float *__restrict__ y) {
  const size_t i = (size_t)blockIdx.x * 256 + threadIdx.x;
  const float4 p = powers[i];
  const double loudness = -0.691 + 10.0 * log10(1.0 * p.x + 1.0 * p.y + 1.41 * p.z + 1.41 * p.w + centre[i] + 1e-7);
  y[i] = loudness / (1.0 + exp(-0.5 * (loudness + 10.0)));
}

extern "C" __global__ void __launch_bounds__(256)
    gated_loudness_fixed(const float4 *__restrict__ powers, const float *__restrict__ centre, float *__restrict__ y) {
  const size_t i = (size_t)blockIdx.x * 256 + threadIdx.x;
  const float4 p = powers[i];
  const float loudness = -0.691f + 10.0f * log10f(1.0f * p.x + 1.0f * p.y + 1.41f * p.z + 1.41f * p.w + centre[i] + 1e-7f);
  y[i] = loudness / (1.0f + expf(-0.5f * (loudness + 10.0f)));
}

// The reciprocal of the special-function unit alone.
__device__ inline float inverse_of(float v) {
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(v));
  return r;
}

// lens_sums (sfu-bound): the strengths of 48 lenses behind each other: a reciprocal and an addition for each.
// Fixed: a fraction of 8 lenses has one denominator: one reciprocal, 22 more instructions of the FMA pipe.
extern "C" __global__ void __launch_bounds__(256) lens_sums(const float *__restrict__ x, float *__restrict__ y) {
  const size_t i = (size_t)blockIdx.x * 256 + threadIdx.x;
  const float v = x[i];
  float sum = 0;
#pragma unroll
  for (int k = 0; k < 48; k++) sum += inverse_of(1 + v * ((k + 1) / 48.f));
  y[i] = sum;
}

extern "C" __global__ void __launch_bounds__(256) lens_sums_fixed(const float *__restrict__ x, float *__restrict__ y) {
  const size_t i = (size_t)blockIdx.x * 256 + threadIdx.x;
  const float v = x[i];
  float sum = 0;
#pragma unroll
  for (int k = 0; k < 48; k += 8) {
    float over = 0, under = 1;
#pragma unroll
    for (int j = 0; j < 8; j++) {
      const float next = 1 + v * ((k + j + 1) / 48.f);
      over = over * next + under;
      under *= next;
    }
    sum += over * inverse_of(under);
  }
  y[i] = sum;
}

// The sum of c and the products of four signed bytes.
__device__ inline int dot_of_bytes(int a, int b, int c) {
  int d;
  asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
}

// byte_correlations (at-roof): 8 independent chains of products of four bytes each, added up in one instruction: that of its
// pipe in every cycle that it takes.
// The twin is the same in blocks of another size.
template <int THREADS>
__device__ inline void correlate(const uint4 *x, int *y, int steps) {
  const size_t i = (size_t)blockIdx.x * THREADS * 2 + threadIdx.x;
  const uint4 v[2] = {x[i], x[i + THREADS]};
  const int *in = (const int *)v;
  int sum[8];
#pragma unroll
  for (int j = 0; j < 8; j++) sum[j] = j & 3;
#pragma unroll 8
  for (int k = 0; k < steps; k++) {
#pragma unroll
    for (int j = 0; j < 8; j++) sum[j] = dot_of_bytes(in[j], sum[j], sum[j]);
  }
  y[i] = sum[0] ^ sum[1] ^ sum[2] ^ sum[3];
  y[i + THREADS] = sum[4] ^ sum[5] ^ sum[6] ^ sum[7];
}

extern "C" __global__ void __launch_bounds__(256)
    byte_correlations(const uint4 *__restrict__ x, int *__restrict__ y, int steps) {
  correlate<256>(x, y, steps);
}

extern "C" __global__ void __launch_bounds__(128)
    byte_correlations_fixed(const uint4 *__restrict__ x, int *__restrict__ y, int steps) {
  correlate<128>(x, y, steps);
}
