// launch-bound: launches take longer than what they launch.
#include "plant.cuh"

// step_per_launch: 16 launches of a step that takes 1 or 2 µs, one after the other.
// Fixed: one launch that takes 16 steps.
extern "C" __global__ void __launch_bounds__(256)
    step_per_launch(const float *__restrict__ x, float *__restrict__ y, float a) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  y[i] = y[i] * a + x[i];
}

extern "C" __global__ void __launch_bounds__(256)
    step_per_launch_fixed(const float *__restrict__ x, float *__restrict__ y, float a) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  const float v = x[i];
  float s = y[i];
#pragma unroll
  for (int k = 0; k < 16; k++) s = s * a + v;
  y[i] = s;
}

// sample_per_launch: the 16 samples of a batch are normalised by 16 launches, each of which takes 2 or 3 µs.
// Fixed: one launch for the whole batch.
__device__ inline void normalise(const float4 *x, float4 *y) {
  const float4 v = x[threadIdx.x];
  __shared__ float scale;
  const float squares = block_sum(v.x * v.x + v.y * v.y + (v.z * v.z + v.w * v.w));
  if (threadIdx.x == 0) scale = rsqrtf(squares * (1 / 1024.f));
  __syncthreads();
  const float s = scale;
  y[threadIdx.x] = make_float4(v.x * s, v.y * s, v.z * s, v.w * s);
}

extern "C" __global__ void __launch_bounds__(256)
    sample_per_launch(const float4 *__restrict__ x, float4 *__restrict__ y, int first_row) {
  const size_t row = first_row + blockIdx.x;
  normalise(x + row * 256, y + row * 256);
}

extern "C" __global__ void __launch_bounds__(256)
    sample_per_launch_fixed(const float4 *__restrict__ x, float4 *__restrict__ y) {
  normalise(x + (size_t)blockIdx.x * 256, y + (size_t)blockIdx.x * 256);
}
