// Sum of n numbers in f32, in two launches: PARTIALS blocks add up a share each, then one block adds up their sums.
// Nothing depends on the order in which blocks run, so the result is the same every time.
#include "reduce.cuh"

#ifndef BLOCK
#define BLOCK 128 // threads
#endif
#ifndef PARTIALS
#define PARTIALS 128 // blocks of the first launch
#endif
#ifndef VEC
#define VEC 1 // elements per load
#endif

extern "C" __global__ void __launch_bounds__(BLOCK)
    sum_partial(const float *__restrict__ x, float *__restrict__ partial, long long n) {
  typedef Vector<float, VEC> V;
  const long long first = (long long)blockIdx.x * BLOCK + threadIdx.x, stride = (long long)PARTIALS * BLOCK;
  float sums[VEC] = {}; // one per lane of the vector: they do not wait for one another
  for (long long i = first; i < n / VEC; i += stride) {
    const V v = ((const V *)x)[i];
#pragma unroll
    for (int j = 0; j < VEC; j++) sums[j] += v.at[j];
  }
  float sum = 0;
#pragma unroll
  for (int j = 0; j < VEC; j++) sum += sums[j];
  const long long rest = n / VEC * VEC + first; // fewer than VEC elements are left over
  if (rest < n) sum += x[rest];
  sum = block_reduce<BLOCK>(sum, Add());
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    sum_final(const float *__restrict__ partial, float *__restrict__ out) {
  float sum = 0;
  for (int i = threadIdx.x; i < PARTIALS; i += BLOCK) sum += partial[i];
  sum = block_reduce<BLOCK>(sum, Add());
  if (threadIdx.x == 0) out[0] = sum;
}
