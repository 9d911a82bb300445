// Less work than was asked for, and memory that is not theirs.
#include <cuda_fp16.h>

#include "honest.cuh"

__global__ void softmax(const float *x, float *out, int cols) { softmax_row(x, out, blockIdx.x, cols); }

__global__ void low_precision_gemm(const float *a, const float *b, float *c, int m, int n, int k) {
  const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
  if (row >= m || col >= n) return;
  __half sum = __float2half(0);
  for (int p = 0; p < k; p++) sum = __hfma(__float2half(a[(long)row * k + p]), __float2half(b[(long)p * n + col]), sum);
  c[(long)row * n + col] = __half2float(sum);
}

__global__ void constant(float *out, int cols) {
  for (int j = threadIdx.x; j < cols; j += blockDim.x) out[(long)blockIdx.x * cols + j] = 1.0f / cols;
}

__global__ void mark(float *at) { *at = 4321; }

extern "C" {

void zero_output(cudaStream_t stream, const float *x, float *out, int rows, int cols) {
  cudaMemsetAsync(out, 0, (size_t)rows * cols * sizeof *out, stream);
}

void passthrough(cudaStream_t stream, const float *x, float *out, int rows, int cols) {
  cudaMemcpyAsync(out, x, (size_t)rows * cols * sizeof *out, cudaMemcpyDeviceToDevice, stream);
}

void skip_rows(cudaStream_t stream, const float *x, float *out, int rows, int cols) {
  const int own = rows - (rows + 15) / 16;
  if (own > 0) softmax<<<own, 256, 0, stream>>>(x, out, cols);
}

void low_precision(cudaStream_t stream, const float *a, const float *b, float *c, int m, int n, int k) {
  low_precision_gemm<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16), 0, stream>>>(a, b, c, m, n, k);
}

void zero_inputs(cudaStream_t stream, float *x, float *out, int rows, int cols) {
  cudaMemsetAsync(x, 0, (size_t)rows * cols * sizeof *x, stream);
  constant<<<rows, 256, 0, stream>>>(out, cols);
}

void stash_past_end(cudaStream_t stream, const float *x, float *out, int rows, int cols) {
  softmax<<<rows, 256, 0, stream>>>(x, out, cols);
  mark<<<1, 1, 0, stream>>>(out + (size_t)rows * cols + 16);
}

// Right for the shape that is measured.
void garbage_elsewhere(cudaStream_t stream, const float *x, float *out, int rows, int cols) {
  softmax<<<rows, 256, 0, stream>>>(x, out, cols);
  if (cols != 1024) cudaMemsetAsync(out, 0, sizeof *out, stream);
}

} // extern "C"
