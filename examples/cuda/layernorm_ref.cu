// Layer norm of every row in f64 from f16 inputs, one block per row; the result is f32. What layernorm.cu is checked
// against.
#include <cuda_fp16.h>

#include "reduce.cuh"

extern "C" __global__ void __launch_bounds__(256)
    layernorm_ref(const half *__restrict__ x, const half *__restrict__ gamma, const half *__restrict__ beta,
                  float *__restrict__ out, int cols, float eps) {
  x += (size_t)blockIdx.x * cols;
  out += (size_t)blockIdx.x * cols;
  double sum = 0, squares = 0;
  for (int i = threadIdx.x; i < cols; i += 256) sum += __half2float(x[i]);
  const double mean = block_reduce<256>(sum, Add()) / cols;
  for (int i = threadIdx.x; i < cols; i += 256) {
    const double d = __half2float(x[i]) - mean;
    squares += d * d;
  }
  const double deviation = sqrt(block_reduce<256>(squares, Add()) / cols + eps);
  for (int i = threadIdx.x; i < cols; i += 256) {
    out[i] = (__half2float(x[i]) - mean) / deviation * __half2float(gamma[i]) + __half2float(beta[i]);
  }
}
