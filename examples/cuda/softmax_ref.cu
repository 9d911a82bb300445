// Softmax of every row in f64, one block per row; the result is f32. What softmax.cu is checked against.
#include "reduce.cuh"

struct Larger {
  __device__ double operator()(double a, double b) const { return fmax(a, b); }
};

extern "C" __global__ void __launch_bounds__(256)
    softmax_ref(const float *__restrict__ x, float *__restrict__ out, int cols) {
  x += (size_t)blockIdx.x * cols;
  out += (size_t)blockIdx.x * cols;
  double max = -1e300, sum = 0;
  for (int i = threadIdx.x; i < cols; i += 256) max = fmax(max, (double)x[i]);
  max = block_reduce<256>(max, Larger());
  for (int i = threadIdx.x; i < cols; i += 256) sum += exp(x[i] - max);
  sum = block_reduce<256>(sum, Add());
  for (int i = threadIdx.x; i < cols; i += 256) out[i] = exp(x[i] - max) / sum;
}
