// Held-out faces: blocks that do not fill the GPU, and launches that take as long as their work.
#include "plant.cuh"

// tone_map (small-grid): a block of 512 threads maps a frame of 1024 by 1024 points, and there are 24 frames: 24 of 132 SMs work.
// Fixed: 256 blocks a frame.
__device__ inline float mapped(float v, float gain) {
  const float a = v * gain, b = a * (2.51f * a + 0.03f);
  return __fdividef(b, a * (2.43f * a + 0.59f) + 0.14f);
}

extern "C" __global__ void __launch_bounds__(512)
    tone_map(const float *__restrict__ x, const float *__restrict__ gains, float *__restrict__ y, int points) {
  const float gain = gains[blockIdx.x];
  const size_t first = (size_t)blockIdx.x * points;
#pragma unroll 4
  for (int i = threadIdx.x; i < points; i += 512) y[first + i] = mapped(x[first + i], gain);
}

extern "C" __global__ void __launch_bounds__(512)
    tone_map_fixed(const float *__restrict__ x, const float *__restrict__ gains, float *__restrict__ y, int points) {
  const float gain = gains[blockIdx.x];
  const int part = points / gridDim.y;
  const size_t first = (size_t)blockIdx.x * points + (size_t)blockIdx.y * part;
#pragma unroll 4
  for (int i = threadIdx.x; i < part; i += 512) y[first + i] = mapped(x[first + i], gain);
}

// light_probes (tail-wave): a thread projects light of many directions to 9 harmonics. Four blocks of 512 threads fill an SM: of
// 560 blocks 528 run at first, and 32 then have the GPU for themselves.
// Fixed: blocks of 64 threads.
template <int THREADS>
__device__ inline void project_light(const float4 *lights, float *y, int n, int count) {
  __shared__ float4 near[64];
  const int i = blockIdx.x * THREADS + threadIdx.x;
  const float turn = (i & 1023) * (1 / 1024.f);
  float h[9] = {0, 0, 0, 0, 0, 0, 0, 0, 0};
#pragma unroll 1
  for (int first = 0; first < count; first += 64) {
    __syncthreads();
    if (threadIdx.x < 64) near[threadIdx.x] = lights[first + threadIdx.x];
    __syncthreads();
#pragma unroll 4
    for (int k = 0; k < 64; k++) {
      const float4 l = near[k];
      const float x = l.x + turn * l.y, yy = l.y - turn * l.x, z = l.z;
      h[0] += l.w;
      h[1] += l.w * x, h[2] += l.w * yy, h[3] += l.w * z;
      h[4] += l.w * x * yy, h[5] += l.w * yy * z, h[6] += l.w * z * x;
      h[7] += l.w * (x * x - yy * yy), h[8] += l.w * (3 * z * z - 1);
    }
  }
#pragma unroll
  for (int j = 0; j < 9; j++) y[(size_t)j * n + i] = h[j];
}

extern "C" __global__ void __launch_bounds__(512, 4)
    light_probes(const float4 *__restrict__ lights, float *__restrict__ y, int n, int count) {
  project_light<512>(lights, y, n, count);
}

extern "C" __global__ void __launch_bounds__(64, 32)
    light_probes_fixed(const float4 *__restrict__ lights, float *__restrict__ y, int n, int count) {
  project_light<64>(lights, y, n, count);
}

// mesh_patches (load-imbalance): the cells of an adaptive mesh react, a block for each patch. A patch has 256 cells, but one in 64
// is divided more finely and has 16,384: 33 blocks go on when all others are done.
// Fixed: a block for every 256 cells.
__device__ inline void react(const float *x, float *y, size_t cell, int steps) {
  const float feed = x[cell] * 0.4f;
  float a = feed;
#pragma unroll 4
  for (int k = 0; k < steps; k++) a = a * 0.5f + feed * fabsf(a - 0.5f);
  y[cell] = a;
}

// Of 64 patches, number 32 has `fine` pieces of 256 cells; the others have one.
extern "C" __global__ void __launch_bounds__(256) mesh_patches(const float *__restrict__ x, float *__restrict__ y, int fine, int steps) {
  const int patch = blockIdx.x, pieces = patch % 64 == 32 ? fine : 1;
  const size_t first = ((size_t)patch + (patch + 31) / 64 * (fine - 1)) * 256 + threadIdx.x;
#pragma unroll 1
  for (int p = 0; p < pieces; p++) react(x, y, first + p * 256, steps);
}

extern "C" __global__ void __launch_bounds__(256) mesh_patches_fixed(const float *__restrict__ x, float *__restrict__ y, int, int steps) {
  react(x, y, (size_t)blockIdx.x * 256 + threadIdx.x, steps);
}

// string_steps (launch-bound): 24 steps of vibrating strings of 1024 points, one launch each, from one buffer to another.
// Fixed: one launch; a block keeps its string in shared memory.
__device__ inline float2 swung(float2 own, float left, float right) { // place, and the place a step before
  return make_float2(2 * own.x - own.y + 0.25f * (left - 2 * own.x + right), own.x);
}

extern "C" __global__ void __launch_bounds__(256) string_steps(const float2 *__restrict__ from, float2 *__restrict__ to) {
  const int i = blockIdx.x * 256 + threadIdx.x, at = i & 1023;
  const float left = at > 0 ? from[i - 1].x : 0, right = at < 1023 ? from[i + 1].x : 0;
  to[i] = swung(from[i], left, right);
}

extern "C" __global__ void __launch_bounds__(1024) string_steps_fixed(float2 *__restrict__ strings, float2 *) {
  __shared__ float places[2][1026];
  const int t = threadIdx.x;
  float2 own = strings[blockIdx.x * 1024 + t];
  if (t < 2) places[t][0] = places[t][1025] = 0;
#pragma unroll 1
  for (int s = 0; s < 24; s++) {
    float *now = places[s % 2];
    now[t + 1] = own.x;
    __syncthreads();
    own = swung(own, now[t], now[t + 2]);
  }
  strings[blockIdx.x * 1024 + t] = own;
}
