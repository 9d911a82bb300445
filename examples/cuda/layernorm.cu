// Layer norm of every row of a [rows, cols] matrix: (x - mean) / sqrt(variance + eps) * gamma + beta. f16 in memory,
// f32 in between, one block per row.
//
// Three passes over the row: mean, variance around it, result. A row is small enough for the cache after the first.
#include <cuda_fp16.h>

#include "reduce.cuh"

#ifndef BLOCK
#define BLOCK 128 // threads
#endif
#ifndef VEC
#define VEC 1 // elements per load
#endif

template <int N>
__device__ inline void layernorm_row(const half *x, const half *gamma, const half *beta, half *out, int cols,
                                     float eps) {
  typedef Vector<half, N> V;
  float sum = 0;
  for (int i = threadIdx.x; i < cols / N; i += BLOCK) {
    const V v = ((const V *)x)[i];
#pragma unroll
    for (int j = 0; j < N; j++) sum += __half2float(v.at[j]);
  }
  const float mean = block_reduce<BLOCK>(sum, Add()) / cols;

  float squares = 0;
  for (int i = threadIdx.x; i < cols / N; i += BLOCK) {
    const V v = ((const V *)x)[i];
#pragma unroll
    for (int j = 0; j < N; j++) {
      const float d = __half2float(v.at[j]) - mean;
      squares += d * d;
    }
  }
  const float factor = rsqrtf(block_reduce<BLOCK>(squares, Add()) / cols + eps);

  for (int i = threadIdx.x; i < cols / N; i += BLOCK) {
    V v = ((const V *)x)[i];
    const V g = ((const V *)gamma)[i], b = ((const V *)beta)[i];
#pragma unroll
    for (int j = 0; j < N; j++) {
      const float normal = (__half2float(v.at[j]) - mean) * factor;
      v.at[j] = __float2half(normal * __half2float(g.at[j]) + __half2float(b.at[j]));
    }
    ((V *)out)[i] = v;
  }
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    layernorm(const half *__restrict__ x, const half *__restrict__ gamma, const half *__restrict__ beta,
              half *__restrict__ out, int cols, float eps) {
  x += (size_t)blockIdx.x * cols;
  out += (size_t)blockIdx.x * cols;
  if (cols % VEC == 0) {
    layernorm_row<VEC>(x, gamma, beta, out, cols, eps);
  } else {
    layernorm_row<1>(x, gamma, beta, out, cols, eps); // rows start anywhere
  }
}
