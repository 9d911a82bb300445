// c = a b from f16 matrices, summed in f64, one thread per element; the result is f32. What gemm.cu is checked against.
#include <cuda_fp16.h>

extern "C" __global__ void gemm_ref(const half *__restrict__ a, const half *__restrict__ b, float *__restrict__ c,
                                    int m, int n, int k) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= (long long)m * n) return;
  const int row = i / n, col = i % n;
  double sum = 0;
  // The product of two f16 numbers is exact in f32.
  for (int j = 0; j < k; j++) sum += __half2float(a[(size_t)row * k + j]) * __half2float(b[(size_t)j * n + col]);
  c[i] = sum;
}
