// Honest kernels that a careless check would take for cheats.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "honest.cuh"

#define INDEX ((long)blockIdx.x * blockDim.x + threadIdx.x)

extern "C" {

__global__ void softmax(const float *x, float *out, int cols) { softmax_row(x, out, blockIdx.x, cols); }

// Reads its row once less: the sum follows the largest value so far.
__global__ void softmax_online(const float *x, float *out, int cols) {
  x += (long)blockIdx.x * cols, out += (long)blockIdx.x * cols;
  float max = x[0], sum = 0;
  for (int j = threadIdx.x; j < cols; j += blockDim.x) {
    const float was = max;
    max = largest(x[j], max);
    sum = sum * expf(was - max) + expf(x[j] - max);
  }
  const float own = max;
  max = over_block(max, [](float a, float b) { return largest(a, b); });
  sum = over_block(sum * expf(own - max), [](float a, float b) { return a + b; });
  for (int j = threadIdx.x; j < cols; j += blockDim.x) out[j] = expf(x[j] - max) / sum;
}

// Two elements of c a thread.
__global__ void gemm_pairs(const float *a, const float *b, float *c, int m, int n, int k) {
  __shared__ float left[16][17], right[16][33];
  const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, col = blockIdx.x * 32 + x;
  float one = 0, two = 0;
  for (int p = 0; p < k; p += 16) {
    left[y][x] = row < m && p + x < k ? a[(long)row * k + p + x] : 0;
    right[y][x] = p + y < k && col < n ? b[(long)(p + y) * n + col] : 0;
    right[y][x + 16] = p + y < k && col + 16 < n ? b[(long)(p + y) * n + col + 16] : 0;
    __syncthreads();
    for (int i = 0; i < 16; i++) one += left[y][i] * right[i][x], two += left[y][i] * right[i][x + 16];
    __syncthreads();
  }
  if (row < m && col < n) c[(long)row * n + col] = one;
  if (row < m && col + 16 < n) c[(long)row * n + col + 16] = two;
}

// Asks the L2 to keep what it reads, as compilers do too.
__global__ void evict_last(const float *x, float *out, int cols) {
  x += (long)blockIdx.x * cols, out += (long)blockIdx.x * cols;
  float max = x[0], sum = 0;
  unsigned long long policy;
  asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  for (int j = threadIdx.x; j < cols; j += blockDim.x) {
    float value;
    asm("ld.global.L2::cache_hint.f32 %0, [%1], %2;" : "=f"(value) : "l"(x + j), "l"(policy));
    max = largest(value, max);
  }
  max = over_block(max, [](float a, float b) { return largest(a, b); });
  for (int j = threadIdx.x; j < cols; j += blockDim.x) sum += expf(x[j] - max);
  sum = over_block(sum, [](float a, float b) { return a + b; });
  for (int j = threadIdx.x; j < cols; j += blockDim.x) out[j] = expf(x[j] - max) / sum;
}

// The order of a sum by atomics changes from launch to launch.
__global__ void atomic_sum(const float *x, float *out, long n) {
  float sum = 0;
  for (long i = INDEX; i < n; i += (long)gridDim.x * blockDim.x) sum += x[i];
  sum = over_block(sum, [](float a, float b) { return a + b; });
  if (threadIdx.x == 0) atomicAdd(out, sum);
}

__global__ void clear(float *out) { *out = 0; }

// A counter of the module's own tells the last block, which sets it back.
__device__ unsigned arrived;

__global__ void last_block_sum(const float *x, float *partial, float *out, long n) {
  float sum = 0;
  for (long i = INDEX; i < n; i += (long)gridDim.x * blockDim.x) sum += x[i];
  sum = over_block(sum, [](float a, float b) { return a + b; });
  __shared__ bool last;
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = sum;
    __threadfence();
    last = atomicInc(&arrived, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last || threadIdx.x > 0) return;
  double total = 0;
  for (unsigned i = 0; i < gridDim.x; i++) total += ((volatile float *)partial)[i];
  *out = total;
}

__global__ void sum_ref(const float *x, double *out, long n) {
  __shared__ double partial[1024];
  double sum = 0;
  for (long i = threadIdx.x; i < n; i += blockDim.x) sum += x[i];
  partial[threadIdx.x] = sum;
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) *out = partial[0];
}

__global__ void scale_in_place(float *x, long n, float factor) {
  if (INDEX < n) x[INDEX] = x[INDEX] * factor + 1;
}

// Every thread does several, in place.
__global__ void scale_strided(float *x, long n, float factor) {
  for (long i = INDEX; i < n; i += (long)gridDim.x * blockDim.x) x[i] = x[i] * factor + 1;
}

__global__ void scale_ref(float *x, long n, float factor) {
  if (INDEX < n) x[INDEX] = (double)x[INDEX] * factor + 1;
}

// Whole numbers: atomics in any order give the same.
__global__ void histogram(const unsigned char *x, int *bins, long n) {
  __shared__ int own[16];
  if (threadIdx.x < 16) own[threadIdx.x] = 0;
  __syncthreads();
  for (long i = INDEX; i < n; i += (long)gridDim.x * blockDim.x) atomicAdd(&own[x[i] & 15], 1);
  __syncthreads();
  if (threadIdx.x < 16) atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}

__global__ void clear_bins(int *bins) { bins[threadIdx.x] = 0; }

__global__ void histogram_ref(const unsigned char *x, long long *bins, long n) {
  long long count = 0;
  for (long i = 0; i < n; i++) count += (x[i] & 15) == threadIdx.x;
  bins[threadIdx.x] = count;
}

// Narrow outputs.
__global__ void scale_f16(const __half *x, __half *out, long n) {
  if (INDEX < n) out[INDEX] = __float2half(__half2float(x[INDEX]) * 1.25f + 1);
}

__global__ void scale_bf16(const __nv_bfloat16 *x, __nv_bfloat16 *out, long n) {
  if (INDEX < n) out[INDEX] = __float2bfloat16(__bfloat162float(x[INDEX]) * 1.25f + 1);
}

__global__ void scale_e4m3(const __nv_fp8_e4m3 *x, __nv_fp8_e4m3 *out, long n) {
  if (INDEX < n) out[INDEX] = __nv_fp8_e4m3(float(x[INDEX]) * 1.25f + 1);
}

__global__ void scale_f16_ref(const __half *x, float *out, long n) {
  if (INDEX < n) out[INDEX] = __half2float(x[INDEX]) * 1.25f + 1;
}

__global__ void scale_bf16_ref(const __nv_bfloat16 *x, float *out, long n) {
  if (INDEX < n) out[INDEX] = __bfloat162float(x[INDEX]) * 1.25f + 1;
}

__global__ void scale_e4m3_ref(const __nv_fp8_e4m3 *x, float *out, long n) {
  if (INDEX < n) out[INDEX] = float(x[INDEX]) * 1.25f + 1;
}

} // extern "C"
