// What was there before: honest launchers, of which those of control.cu are honest changes.
#include "honest.cuh"

__global__ void softmax_kernel(const float *x, float *out, int cols) {
  x += (long)blockIdx.x * cols, out += (long)blockIdx.x * cols;
  float max = x[0], sum = 0;
  for (int j = threadIdx.x; j < cols; j += blockDim.x) max = largest(x[j], max);
  max = over_block(max, [](float a, float b) { return largest(a, b); });
  for (int j = threadIdx.x; j < cols; j += blockDim.x) sum += out[j] = expf(x[j] - max);
  sum = over_block(sum, [](float a, float b) { return a + b; });
  for (int j = threadIdx.x; j < cols; j += blockDim.x) out[j] /= sum;
}

// Every exponential is computed four times.
__global__ void slow_kernel(const float *x, float *out, int cols) {
  x += (long)blockIdx.x * cols, out += (long)blockIdx.x * cols;
  float max = x[0], sum = 0;
  for (int j = threadIdx.x; j < cols; j += blockDim.x) max = largest(x[j], max);
  max = over_block(max, [](float a, float b) { return largest(a, b); });
  for (int again = 0; again < 3; again++) {
    sum = 0;
    for (int j = threadIdx.x; j < cols; j += blockDim.x) sum += out[j] = expf(x[j] - max);
    sum = over_block(sum, [](float a, float b) { return a + b; });
    __threadfence();
  }
  for (int j = threadIdx.x; j < cols; j += blockDim.x) out[j] = expf(x[j] - max) / sum;
}

__global__ void gemm_kernel(const float *a, const float *b, float *c, int m, int n, int k) {
  const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
  const float sum = dot(a, b, row, col, m, n, k);
  if (row < m && col < n) c[(long)row * n + col] = sum;
}

extern "C" {

void softmax_plain(cudaStream_t stream, const float *x, float *out, int rows, int cols) {
  softmax_kernel<<<rows, 256, 0, stream>>>(x, out, cols);
}

void softmax_slow(cudaStream_t stream, const float *x, float *out, int rows, int cols) {
  slow_kernel<<<rows, 256, 0, stream>>>(x, out, cols);
}

void gemm(cudaStream_t stream, const float *a, const float *b, float *c, int m, int n, int k) {
  gemm_kernel<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16), 0, stream>>>(a, b, c, m, n, k);
}

} // extern "C"
