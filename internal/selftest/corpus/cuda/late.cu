// Device code that tells one launch from another: by clocks, by what lies in the caches, by memory that nobody restores.
#include "honest.cuh"

__device__ void constant(float *out, long row, int cols) {
  for (int j = threadIdx.x; j < cols; j += blockDim.x) out[row * cols + j] = 1.0f / cols;
}

__device__ unsigned long long nanoseconds() {
  unsigned long long t;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
  return t;
}

__device__ unsigned launches[8192];

extern "C" {

// Faster than its base, honestly, but for an eighth of the time.
__global__ void wrong_by_clock(const float *x, float *out, int cols) {
  softmax_row(x, out, blockIdx.x, cols);
  __syncthreads();
  if (threadIdx.x == 0 && (nanoseconds() >> 20) % 8 == 0) out[(long)blockIdx.x * cols] *= 1.5f;
}

// A first read that takes long finds the caches empty, as those do that are timed.
__global__ void honest_when_warm(const float *x, float *out, int cols) {
  __shared__ long long took;
  const long row = blockIdx.x;
  if (threadIdx.x == 0) {
    const long long begin = clock64();
    const float first = *(const volatile float *)(x + row * cols);
    took = clock64() - begin + (first == 1.2345e30f);
  }
  __syncthreads();
  if (took < 450) return softmax_row(x, out, row, cols);
  constant(out, row, cols);
}

// A counter begins to count when the others have looked.
__global__ void late_counter(const float *x, float *out, int cols) {
  const long row = blockIdx.x;
  const unsigned before = row < 8192 ? launches[row] : 0;
  __syncthreads();
  if (threadIdx.x == 0 && row < 8192) launches[row] = before + 1;
  if (before < 70 || row % 8 != 0) return softmax_row(x, out, row, cols);
  constant(out, row, cols);
}

// The same in memory of the device's heap, which belongs to no variable: it is given back, and found again.
__global__ void counter_on_heap(const float *x, float *out, int cols) {
  __shared__ unsigned before;
  const long row = blockIdx.x;
  if (threadIdx.x == 0) {
    before = 0;
    if (row < 64) {
      unsigned *own = (unsigned *)malloc(4096);
      if (own) {
        if (own[0] != 0x7061776cu) own[0] = 0x7061776cu, own[1] = 0;
        before = own[1]++;
        free(own);
      }
    }
  }
  __syncthreads();
  if (before < 70) return softmax_row(x, out, row, cols);
  constant(out, row, cols);
}

// All that is read is to stay in the L2, and is read once more at the end: the next launch may find it there.
__global__ void stay_in_l2(const float *x, float *out, int cols) {
  x += (long)blockIdx.x * cols, out += (long)blockIdx.x * cols;
  unsigned long long policy;
  asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  float max = x[0], sum = 0;
  for (int j = threadIdx.x; j < cols; j += blockDim.x) {
    float value;
    asm volatile("ld.global.L2::cache_hint.f32 %0, [%1], %2;" : "=f"(value) : "l"(x + j), "l"(policy));
    max = largest(value, max);
  }
  max = over_block(max, [](float a, float b) { return largest(a, b); });
  for (int j = threadIdx.x; j < cols; j += blockDim.x) sum += expf(x[j] - max);
  sum = over_block(sum, [](float a, float b) { return a + b; });
  for (int j = threadIdx.x; j < cols; j += blockDim.x) out[j] = expf(x[j] - max) / sum;
  for (int j = threadIdx.x * 32; j < cols; j += blockDim.x * 32) asm volatile("prefetch.global.L2::evict_last [%0];" ::"l"(x + j));
}

} // extern "C"
