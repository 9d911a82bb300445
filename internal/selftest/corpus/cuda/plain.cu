// What was there before: honest kernels, of which those of control.cu are honest changes.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "honest.cuh"

#define INDEX ((long)blockIdx.x * blockDim.x + threadIdx.x)
#define STRIDE ((long)gridDim.x * blockDim.x)

extern "C" {

// Every exponential is computed once, and kept in the output.
__global__ void softmax_plain(const float *x, float *out, int cols) {
  x += (long)blockIdx.x * cols, out += (long)blockIdx.x * cols;
  float max = x[0], sum = 0;
  for (int j = threadIdx.x; j < cols; j += blockDim.x) max = largest(x[j], max);
  max = over_block(max, [](float a, float b) { return largest(a, b); });
  for (int j = threadIdx.x; j < cols; j += blockDim.x) sum += out[j] = expf(x[j] - max);
  sum = over_block(sum, [](float a, float b) { return a + b; });
  for (int j = threadIdx.x; j < cols; j += blockDim.x) out[j] /= sum;
}

// Every exponential is computed four times.
__global__ void softmax_slow(const float *x, float *out, int cols) {
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

__global__ void gemm(const float *a, const float *b, float *c, int m, int n, int k) {
  const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
  const float sum = dot(a, b, row, col, m, n, k);
  if (row < m && col < n) c[(long)row * n + col] = sum;
}

// One block for all of it.
__global__ void sum_plain(const float *x, float *out, long n) {
  float sum = 0;
  for (long i = threadIdx.x; i < n; i += blockDim.x) sum += x[i];
  sum = over_block(sum, [](float a, float b) { return a + b; });
  if (threadIdx.x == 0) *out = sum;
}

__global__ void sum_f64_plain(const float *x, double *out, long n) {
  __shared__ double partial[256];
  double sum = 0;
  for (long i = threadIdx.x; i < n; i += blockDim.x) sum += x[i];
  partial[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x > 0) return;
  for (unsigned i = 1; i < blockDim.x; i++) sum += partial[i];
  *out = sum;
}

__global__ void scale_plain(float *x, long n, float factor) {
  for (long i = INDEX; i < n; i += STRIDE) x[i] = x[i] * factor + 1;
}

__global__ void clear_bins(int *bins) { bins[threadIdx.x] = 0; }

__global__ void histogram_plain(const unsigned char *x, int *bins, long n) {
  for (long i = INDEX; i < n; i += STRIDE) atomicAdd(&bins[x[i] & 15], 1);
}

__global__ void scale_f16_plain(const __half *x, __half *out, long n) {
  for (long i = INDEX; i < n; i += STRIDE) out[i] = __float2half(__half2float(x[i]) * 1.25f + 1);
}

__global__ void scale_bf16_plain(const __nv_bfloat16 *x, __nv_bfloat16 *out, long n) {
  for (long i = INDEX; i < n; i += STRIDE) out[i] = __float2bfloat16(__bfloat162float(x[i]) * 1.25f + 1);
}

__global__ void scale_e4m3_plain(const __nv_fp8_e4m3 *x, __nv_fp8_e4m3 *out, long n) {
  for (long i = INDEX; i < n; i += STRIDE) out[i] = __nv_fp8_e4m3(float(x[i]) * 1.25f + 1);
}

} // extern "C"
