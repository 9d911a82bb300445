#include "common.h"

template <typename Join> __device__ float over_block(float v, Join join) {
  __shared__ float part[32];
  for (int lanes = 16; lanes > 0; lanes /= 2) v = join(v, __shfl_xor_sync(~0u, v, lanes));
  __syncthreads();
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
  __syncthreads();
  v = part[0];
  for (unsigned i = 1; i < blockDim.x / 32; i++) v = join(v, part[i]);
  return v;
}

__device__ float total(float v) {
  return over_block(v, [](float a, float b) { return a + b; });
}

__device__ float largest(float v) {
  return over_block(v, [](float a, float b) { return fmaxf(a, b); });
}

extern "C" __global__ void row_sum(const float *x, float *out, int cols) {
  CHECK(cols);
  x += (long)blockIdx.x * cols;
  float sum = 0;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) sum += x[i];
  if ((sum = total(sum), threadIdx.x == 0)) out[blockIdx.x] = sum;
}

extern "C" __global__ void row_max(const float *x, float *out, int cols) {
  CHECK(cols);
  x += (long)blockIdx.x * cols;
  float most = -INFINITY;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) most = fmaxf(most, x[i]);
  if ((most = largest(most), threadIdx.x == 0)) out[blockIdx.x] = most;
}

extern "C" __global__ void softmax(const float *x, float *out, int cols) {
  CHECK(cols);
  x += (long)blockIdx.x * cols, out += (long)blockIdx.x * cols;
  float most = -INFINITY, sum = 0;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) most = fmaxf(most, x[i]);
  most = largest(most);
  for (int i = threadIdx.x; i < cols; i += blockDim.x) sum += expf(x[i] - most);
  sum = total(sum);
  for (int i = threadIdx.x; i < cols; i += blockDim.x) out[i] = expf(x[i] - most) / sum;
}

extern "C" __global__ void layernorm(const float *x, const float *gamma, const float *beta, float *out, int cols, float eps) {
  CHECK(cols);
  x += (long)blockIdx.x * cols, out += (long)blockIdx.x * cols;
  float sum = 0, squares = 0;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) sum += x[i];
  float mean = total(sum) / cols;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) squares += (x[i] - mean) * (x[i] - mean);
  float rstd = rsqrtf(total(squares) / cols + eps);
  for (int i = threadIdx.x; i < cols; i += blockDim.x) out[i] = (x[i] - mean) * rstd * gamma[i] + beta[i];
}
