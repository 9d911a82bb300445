// Held-out faces: what arithmetic costs.
#include <cuda_fp16.h>

#include "plant.cuh"

// option_prices (fp64-accident): Black-Scholes with literals without f, so that logarithm, root, exponential and error function
// are those of double: some 300 double instructions for 16 bytes.
// Fixed: the f is there.
extern "C" __global__ void __launch_bounds__(256)
    option_prices(const float *__restrict__ spot, const float *__restrict__ strike, const float *__restrict__ years, float *__restrict__ y) {
  const size_t i = (size_t)blockIdx.x * 256 + threadIdx.x;
  const float s = spot[i], k = strike[i], t = years[i];
  const double deviation = 0.3 * sqrt(1.0 * t);
  const double d = (log(1.0 * s / k) + (0.02 + 0.5 * 0.3 * 0.3) * t) / deviation;
  y[i] = s * 0.5 * erfc(-0.70710678 * d) - k * exp(-0.02 * t) * 0.5 * erfc(-0.70710678 * (d - deviation));
}

extern "C" __global__ void __launch_bounds__(256)
    option_prices_fixed(const float *__restrict__ spot, const float *__restrict__ strike, const float *__restrict__ years,
                        float *__restrict__ y) {
  const size_t i = (size_t)blockIdx.x * 256 + threadIdx.x;
  const float s = spot[i], k = strike[i], t = years[i];
  const float deviation = 0.3f * sqrtf(1.0f * t);
  const float d = (logf(1.0f * s / k) + (0.02f + 0.5f * 0.3f * 0.3f) * t) / deviation;
  y[i] = s * 0.5f * erfcf(-0.70710678f * d) - k * expf(-0.02f * t) * 0.5f * erfcf(-0.70710678f * (d - deviation));
}

// skewness_columns (fp64-accident): running moments of columns of halves, updated in double, with a division for every number:
// about 21 double instructions, 42 cycles of a scheduler, for 2 bytes.
// Fixed: floats.
template <typename T>
__device__ inline void moments(const half *x, float *y, int n, int steps) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  T mean = 0, squares = 0, cubes = 0;
#pragma unroll 1
  for (int first = 0; first < steps; first += 8) {
    float v[8]; // under way together: the division's branches keep loads where they are
#pragma unroll
    for (int j = 0; j < 8; j++) v[j] = __half2float(x[(size_t)(first + j) * n + i]);
#pragma unroll
    for (int j = 0; j < 8; j++) {
      const int k = first + j;
      const T d = T(v[j]) - mean, part = d / (k + 1), term = d * part * k;
      mean += part;
      cubes += term * part * (k - 1) - 3 * part * squares;
      squares += term;
    }
  }
  y[i] = (float)(squares + cubes * T(0.125));
}

extern "C" __global__ void __launch_bounds__(256, 4)
    skewness_columns(const half *__restrict__ x, float *__restrict__ y, int n, int steps) {
  moments<double>(x, y, n, steps);
}

extern "C" __global__ void __launch_bounds__(256, 4)
    skewness_columns_fixed(const half *__restrict__ x, float *__restrict__ y, int n, int steps) {
  moments<float>(x, y, n, steps);
}

// Instructions of the special-function unit alone, without what the library adds for denormal numbers.
__device__ inline float log2_of(float v) {
  float r;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(v));
  return r;
}

__device__ inline float root_of(float v) {
  float r;
  asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(v));
  return r;
}

__device__ inline float inverse_of(float v) {
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(v));
  return r;
}

// log_products (sfu-bound): the sum of 32 logarithms, 8 cycles a warp and scheduler each, beside two additions: 256 cycles.
// Fixed: the logarithm of products of 8.
extern "C" __global__ void __launch_bounds__(256) log_products(const float *__restrict__ x, float *__restrict__ y) {
  const size_t i = (size_t)blockIdx.x * 256 + threadIdx.x;
  const float v = x[i];
  float sum = 0;
#pragma unroll
  for (int k = 0; k < 32; k++) sum += log2_of(1 + v * ((k + 1) / 32.f));
  y[i] = sum;
}

extern "C" __global__ void __launch_bounds__(256) log_products_fixed(const float *__restrict__ x, float *__restrict__ y) {
  const size_t i = (size_t)blockIdx.x * 256 + threadIdx.x;
  const float v = x[i];
  float sum = 0;
#pragma unroll
  for (int k = 0; k < 32; k += 8) {
    float product = 1;
#pragma unroll
    for (int j = 0; j < 8; j++) product *= 1 + v * ((k + j + 1) / 32.f);
    sum += log2_of(product);
  }
  y[i] = sum;
}

// closest_anchor (sfu-bound): how close the closest of 32 anchors is, as 1 / (1 + distance): a root and an inverse for each,
// 16 cycles a warp and scheduler, beside 7 instructions.
// Fixed: the smallest squared distance; one root and one inverse.
template <bool LAST>
__device__ inline void closest(const float2 *points, const float4 *anchors, float *y) {
  __shared__ float4 pairs[16];
  if (threadIdx.x < 16) pairs[threadIdx.x] = anchors[threadIdx.x];
  __syncthreads();
  const size_t i = (size_t)blockIdx.x * 256 + threadIdx.x;
  const float2 p = points[i];
  float least = 1e30f, most = 0;
#pragma unroll
  for (int k = 0; k < 16; k++) {
    const float4 a = pairs[k];
    const float first = (p.x - a.x) * (p.x - a.x) + (p.y - a.y) * (p.y - a.y);
    const float second = (p.x - a.z) * (p.x - a.z) + (p.y - a.w) * (p.y - a.w);
    if (LAST) {
      least = fminf(least, fminf(first, second));
    } else {
      most = fmaxf(most, inverse_of(1 + root_of(first)));
      most = fmaxf(most, inverse_of(1 + root_of(second)));
    }
  }
  y[i] = LAST ? inverse_of(1 + root_of(least)) : most;
}

extern "C" __global__ void __launch_bounds__(256)
    closest_anchor(const float2 *__restrict__ points, const float4 *__restrict__ anchors, float *__restrict__ y) {
  closest<false>(points, anchors, y);
}

extern "C" __global__ void __launch_bounds__(256)
    closest_anchor_fixed(const float2 *__restrict__ points, const float4 *__restrict__ anchors, float *__restrict__ y) {
  closest<true>(points, anchors, y);
}

// transform_points (at-roof): four points a thread go through an affine map again and again: 36 FMAs a step, 12 of them
// independent, and nothing else.
// The twin is the same in blocks of another size.
template <int THREADS>
__device__ inline void transform(const float *x, const float *map, float *y, int n, int steps) {
  const int i = blockIdx.x * THREADS + threadIdx.x;
  float m[12], p[4][3];
#pragma unroll
  for (int j = 0; j < 12; j++) m[j] = map[j];
#pragma unroll
  for (int q = 0; q < 4; q++) {
#pragma unroll
    for (int c = 0; c < 3; c++) p[q][c] = x[(size_t)(q * 3 + c) * n + i];
  }
#pragma unroll 2
  for (int k = 0; k < steps; k++) {
#pragma unroll
    for (int q = 0; q < 4; q++) {
      const float a = p[q][0], b = p[q][1], c = p[q][2];
#pragma unroll
      for (int r = 0; r < 3; r++) p[q][r] = m[r * 4] * a + (m[r * 4 + 1] * b + (m[r * 4 + 2] * c + m[r * 4 + 3]));
    }
  }
#pragma unroll
  for (int q = 0; q < 4; q++) {
#pragma unroll
    for (int c = 0; c < 3; c++) y[(size_t)(q * 3 + c) * n + i] = p[q][c];
  }
}

extern "C" __global__ void __launch_bounds__(256)
    transform_points(const float *__restrict__ x, const float *__restrict__ map, float *__restrict__ y, int n, int steps) {
  transform<256>(x, map, y, n, steps);
}

extern "C" __global__ void __launch_bounds__(128)
    transform_points_fixed(const float *__restrict__ x, const float *__restrict__ map, float *__restrict__ y, int n, int steps) {
  transform<128>(x, map, y, n, steps);
}

// half_polynomial (at-roof): 8 independent chains of FMAs of two halves each, 8 bytes a chain: an instruction in every cycle.
// The twin is the same in blocks of another size.
template <int THREADS>
__device__ inline void half_chains(const uint4 *x, uint4 *y, float b, int steps) {
  const size_t i = (size_t)blockIdx.x * THREADS * 2 + threadIdx.x;
  const half2 added = __float2half2_rn(b);
  uint4 v[2] = {x[i], x[i + THREADS]};
  half2 *in = (half2 *)v, s[8];
#pragma unroll
  for (int j = 0; j < 8; j++) s[j] = in[j];
#pragma unroll 8
  for (int k = 0; k < steps; k++) {
#pragma unroll
    for (int j = 0; j < 8; j++) s[j] = __hfma2(s[j], in[j], added);
  }
#pragma unroll
  for (int j = 0; j < 8; j++) in[j] = s[j];
  y[i] = v[0];
  y[i + THREADS] = v[1];
}

extern "C" __global__ void __launch_bounds__(256)
    half_polynomial(const uint4 *__restrict__ x, uint4 *__restrict__ y, float b, int steps) {
  half_chains<256>(x, y, b, steps);
}

extern "C" __global__ void __launch_bounds__(128)
    half_polynomial_fixed(const uint4 *__restrict__ x, uint4 *__restrict__ y, float b, int steps) {
  half_chains<128>(x, y, b, steps);
}
