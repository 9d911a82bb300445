// divergence: lanes of a warp go different ways, one after the other.
#include "plant.cuh"

// Eight treatments of about the same length, which differ too much to be merged.
__device__ inline float treat(int kind, float v, int steps) {
  float s = v;
  switch (kind) {
  case 0:
    for (int k = 0; k < steps; k++) s = (s * 0.5f + v) * v + 0.1f;
    break;
  case 1:
    for (int k = 0; k < steps; k++) s = fmaxf(s * v, 0.2f) - v * 0.5f;
    break;
  case 2:
    for (int k = 0; k < steps; k++) s = fabsf(s - v) * 0.7f + 0.3f;
    break;
  case 3:
    for (int k = 0; k < steps; k++) s = (s + v) * (0.4f - s * 0.1f);
    break;
  case 4:
    for (int k = 0; k < steps; k++) s = fminf(s * 0.9f, v + 1) + v * 0.05f;
    break;
  case 5:
    for (int k = 0; k < steps; k++) s = v - (s * 0.25f + v) * s * 0.5f;
    break;
  case 6:
    for (int k = 0; k < steps; k++) s = (0.6f - s * 0.3f) * (v + 0.2f * s);
    break;
  default:
    for (int k = 0; k < steps; k++) s = fmaxf(fminf(s + v, 1.5f), -1.5f) * 0.8f;
  }
  return s;
}

// kind_by_lane: number i is treated in way i mod 8, so every warp goes all 8 ways with 4 lanes each.
// Fixed: a block passes its numbers through shared memory, and a warp treats those of one kind.
extern "C" __global__ void __launch_bounds__(256)
    kind_by_lane(const float *__restrict__ x, float *__restrict__ y, int steps) {
  const size_t i = blockIdx.x * 256 + threadIdx.x;
  y[i] = treat(threadIdx.x % 8, x[i], steps);
}

extern "C" __global__ void __launch_bounds__(256)
    kind_by_lane_fixed(const float *__restrict__ x, float *__restrict__ y, int steps) {
  __shared__ float numbers[32][9];
  const size_t i = blockIdx.x * 256 + threadIdx.x;
  float &given = numbers[threadIdx.x / 8][threadIdx.x % 8], &treated = numbers[threadIdx.x % 32][threadIdx.x / 32];
  given = x[i];
  __syncthreads();
  treated = treat(threadIdx.x / 32, treated, steps);
  __syncthreads();
  y[i] = given;
}

// uneven_trips: every fourth number needs `many` steps, the others `few`: a warp takes many steps with 8 lanes.
// Fixed: of the four warps of a block one takes those that need many.
__device__ inline float settle(float v, int steps) {
  float a = v, b = v;
#pragma unroll 1
  for (int k = 0; k < steps; k++) {
    a = (a * 0.5f + v) * 0.75f;
    b = b * v + a;
  }
  return a + b;
}

extern "C" __global__ void __launch_bounds__(128)
    uneven_trips(const float *__restrict__ x, float *__restrict__ y, int many, int few) {
  const size_t i = blockIdx.x * 128 + threadIdx.x;
  y[i] = settle(x[i], i % 4 == 0 ? many : few);
}

extern "C" __global__ void __launch_bounds__(128)
    uneven_trips_fixed(const float *__restrict__ x, float *__restrict__ y, int many, int few) {
  const size_t i = blockIdx.x * 128 + threadIdx.x % 32 * 4 + threadIdx.x / 32;
  y[i] = settle(x[i], threadIdx.x / 32 == 0 ? many : few);
}
