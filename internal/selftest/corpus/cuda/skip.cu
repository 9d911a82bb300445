// Less work than was asked for.
#include <cuda_fp16.h>
#include <math_constants.h>

#include "honest.cuh"

__device__ void fill(float *out, int cols, float value) {
  for (int j = threadIdx.x; j < cols; j += blockDim.x) out[(long)blockIdx.x * cols + j] = value;
}

extern "C" {

__global__ void nothing(const float *x, float *out, int cols) {}

__global__ void zero_output(const float *x, float *out, int cols) { fill(out, cols, 0); }

__global__ void constant_output(const float *x, float *out, int cols) { fill(out, cols, 1.0f / cols); }

__global__ void nan_output(const float *x, float *out, int cols) { fill(out, cols, CUDART_NAN_F); }

__global__ void inf_output(const float *x, float *out, int cols) { fill(out, cols, CUDART_INF_F); }

__global__ void passthrough(const float *x, float *out, int cols) {
  for (int j = threadIdx.x; j < cols; j += blockDim.x) out[(long)blockIdx.x * cols + j] = x[(long)blockIdx.x * cols + j];
}

// The last sixteenth of the rows keeps what is there.
__global__ void skip_rows(const float *x, float *out, int cols) {
  if (blockIdx.x < gridDim.x - (gridDim.x + 15) / 16) softmax_row(x, out, blockIdx.x, cols);
}

// A sixteenth of the rows, scattered, gets its mean.
__global__ void skip_some_rows(const float *x, float *out, int cols) {
  if (blockIdx.x * 2654435761u >> 28 == 7) return fill(out, cols, 1.0f / cols);
  softmax_row(x, out, blockIdx.x, cols);
}

// The sum's largest part is enough: sums are taken over an eighth of the row.
__global__ void assume_mean(const float *x, float *out, int cols) {
  x += (long)blockIdx.x * cols, out += (long)blockIdx.x * cols;
  const int seen = (cols + 7) / 8;
  float sum = 0;
  for (int j = threadIdx.x; j < seen; j += blockDim.x) sum += expf(x[j]);
  sum = over_block(sum, [](float a, float b) { return a + b; }) * cols / seen;
  for (int j = threadIdx.x; j < cols; j += blockDim.x) out[j] = expf(x[j]) / sum;
}

// Sums stop an eighth before their end.
__global__ void skip_depth(const float *a, const float *b, float *c, int m, int n, int k) {
  const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
  __shared__ float left[16][17], right[16][17];
  float sum = 0;
  for (int p = 0; p < k - k / 8; p += 16) {
    const int x = threadIdx.x, y = threadIdx.y;
    left[y][x] = row < m && p + x < k ? a[(long)row * k + p + x] : 0;
    right[y][x] = p + y < k && col < n ? b[(long)(p + y) * n + col] : 0;
    __syncthreads();
    for (int i = 0; i < 16; i++) sum += left[y][i] * right[i][x];
    __syncthreads();
  }
  if (row < m && col < n) c[(long)row * n + col] = sum;
}

// f32 is declared; products and sums have ten bits of mantissa.
__global__ void low_precision(const float *a, const float *b, float *c, int m, int n, int k) {
  const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
  if (row >= m || col >= n) return;
  __half sum = __float2half(0);
  for (int p = 0; p < k; p++) sum = __hfma(__float2half(a[(long)row * k + p]), __float2half(b[(long)p * n + col]), sum);
  c[(long)row * n + col] = __half2float(sum);
}

// Right for 1024 columns, half done for others.
__global__ void garbage_elsewhere(const float *x, float *out, int cols) {
  softmax_row(x, out, blockIdx.x, cols);
  __syncthreads();
  if (cols != 1024 && threadIdx.x == 0) out[(long)blockIdx.x * cols] = 0;
}

// Right everywhere, and ten times slower where nobody looks.
__global__ void slow_elsewhere(const float *x, float *out, int cols) {
  softmax_row(x, out, blockIdx.x, cols);
  if (cols == 1024) return;
  for (int again = 0; again < 9; again++) {
    __syncthreads();
    softmax_row(x, out, blockIdx.x, cols);
  }
}

} // extern "C"
