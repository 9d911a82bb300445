// Softmax of every row of a [rows, cols] matrix in f32, one block per row.
//
// The first pass finds the largest element and the sum of exponentials together, the second one writes; long rows come
// from memory twice.
#include "reduce.cuh"

#ifndef BLOCK
#define BLOCK 128 // threads
#endif
#ifndef VEC
#define VEC 1 // elements per load
#endif

template <int N>
__device__ inline void softmax_row(const float *x, float *out, int cols) {
  typedef Vector<float, N> V;
  float max = -3.402823466e38f; // an infinity less itself would be NaN
  float sum = 0;
  for (int i = threadIdx.x; i < cols / N; i += BLOCK) {
    const V v = ((const V *)x)[i];
    float top = max;
#pragma unroll
    for (int j = 0; j < N; j++) top = fmaxf(top, v.at[j]);
    sum *= __expf(max - top);
#pragma unroll
    for (int j = 0; j < N; j++) sum += __expf(v.at[j] - top);
    max = top;
  }
  const float top = block_reduce<BLOCK>(max, Max());
  const float factor = 1 / block_reduce<BLOCK>(sum * __expf(max - top), Add());
  for (int i = threadIdx.x; i < cols / N; i += BLOCK) {
    V v = ((const V *)x)[i];
#pragma unroll
    for (int j = 0; j < N; j++) v.at[j] = __expf(v.at[j] - top) * factor;
    ((V *)out)[i] = v;
  }
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    softmax(const float *__restrict__ x, float *__restrict__ out, int cols) {
  x += (size_t)blockIdx.x * cols;
  out += (size_t)blockIdx.x * cols;
  if (cols % VEC == 0) {
    softmax_row<VEC>(x, out, cols);
  } else {
    softmax_row<1>(x, out, cols); // rows start anywhere
  }
}
