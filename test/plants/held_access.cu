// Held-out faces: which words of global memory the lanes of a warp use.
#include <cuda_fp16.h>

#include "plant.cuh"

// swapped_axes (uncoalesced-loads): the energy of image tiles of 32 by 128; lanes go down the rows, so a request looks up
// 32 lines, one a cycle: 143 M words are 4.5 M requests, 1.1 M cycles of each L1, 600 µs, where DRAM needs 130 µs.
// Fixed: lanes go along the rows.
template <bool SWAPPED>
__device__ inline void tile_energy(const float *image, float *energy, int columns) {
  const float *tile = image + (size_t)blockIdx.y * 32 * columns + blockIdx.x * 128;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  float sum = 0;
#pragma unroll
  for (int i = 0; i < 16; i++) {
    const int row = SWAPPED ? lane : i % 4 * 8 + warp, column = SWAPPED ? i * 8 + warp : i / 4 * 32 + lane;
    const float v = tile[(size_t)row * columns + column];
    sum += v * v;
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) energy[blockIdx.y * gridDim.x + blockIdx.x] = sum;
}

extern "C" __global__ void __launch_bounds__(256)
    swapped_axes(const float *__restrict__ image, float *__restrict__ energy, int columns) {
  tile_energy<true>(image, energy, columns);
}

extern "C" __global__ void __launch_bounds__(256)
    swapped_axes_fixed(const float *__restrict__ image, float *__restrict__ energy, int columns) {
  tile_energy<false>(image, energy, columns);
}

// bit_reversal (uncoalesced-loads): the order of a Fourier transform of 4096 points: lanes read words 512 bytes apart. The
// 16 KB of a block stay in the L1, which looks up 32 lines a request: 69 Mi words are 520,000 cycles, 290 µs; DRAM
// needs 135 µs.
// Fixed: a block reads its points as they lie and picks them in shared memory, one word in 128 left free.
__device__ inline int reversed(int i) { return __brev(i) >> 20; }

extern "C" __global__ void __launch_bounds__(512) bit_reversal(const float *__restrict__ x, float *__restrict__ y) {
  const size_t first = (size_t)blockIdx.x * 4096;
#pragma unroll
  for (int k = 0; k < 8; k++) {
    const int i = k * 512 + threadIdx.x;
    y[first + i] = x[first + reversed(i)];
  }
}

extern "C" __global__ void __launch_bounds__(512) bit_reversal_fixed(const float *__restrict__ x, float *__restrict__ y) {
  __shared__ float points[4096 + 32];
  const size_t first = (size_t)blockIdx.x * 4096;
#pragma unroll
  for (int k = 0; k < 8; k++) {
    const int i = k * 512 + threadIdx.x;
    points[i + i / 128] = x[first + i];
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < 8; k++) {
    const int i = k * 512 + threadIdx.x, from = reversed(i);
    y[first + i] = points[from + from / 128];
  }
}

// radix4_pass (uncoalesced-stores): the first pass of a self-sorting Fourier transform: butterfly j writes its four results
// to 4j … 4j+3, 8 bytes in each of 32 sectors a request: four times as many as needed. 34 M numbers are 34 M partial
// sectors (480 µs); all bytes take 135 µs of DRAM.
// Fixed: the results of a block pass through shared memory and are written as they lie.
__device__ inline float2 times(float2 a, float2 b) { return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }

__device__ inline void butterfly(const float2 *x, size_t j, size_t quarter, float2 (&out)[4]) {
  const float2 a = x[j], b = x[j + quarter], c = x[j + 2 * quarter], d = x[j + 3 * quarter];
  float2 w;
  __sincosf(-1.5707963f / quarter * j, &w.y, &w.x);
  const float2 w2 = times(w, w);
  const float2 t0 = make_float2(a.x + c.x, a.y + c.y), t1 = make_float2(a.x - c.x, a.y - c.y);
  const float2 t2 = make_float2(b.x + d.x, b.y + d.y), t3 = make_float2(b.y - d.y, d.x - b.x);
  out[0] = make_float2(t0.x + t2.x, t0.y + t2.y);
  out[1] = times(make_float2(t1.x + t3.x, t1.y + t3.y), w);
  out[2] = times(make_float2(t0.x - t2.x, t0.y - t2.y), w2);
  out[3] = times(make_float2(t1.x - t3.x, t1.y - t3.y), times(w, w2));
}

extern "C" __global__ void __launch_bounds__(256)
    radix4_pass(const float2 *__restrict__ x, float2 *__restrict__ y, int quarter) {
  const size_t j = (size_t)blockIdx.x * 256 + threadIdx.x;
  float2 out[4];
  butterfly(x, j, quarter, out);
#pragma unroll
  for (int k = 0; k < 4; k++) y[4 * j + k] = out[k];
}

extern "C" __global__ void __launch_bounds__(256)
    radix4_pass_fixed(const float2 *__restrict__ x, float2 *__restrict__ y, int quarter) {
  __shared__ float2 results[1024 + 64]; // one in 16 is left free
  const size_t j = (size_t)blockIdx.x * 256 + threadIdx.x;
  float2 out[4];
  butterfly(x, j, quarter, out);
#pragma unroll
  for (int k = 0; k < 4; k++) results[4 * threadIdx.x + k + threadIdx.x / 4] = out[k];
  __syncthreads();
#pragma unroll
  for (int k = 0; k < 4; k++) {
    const int at = k * 256 + threadIdx.x;
    y[(size_t)blockIdx.x * 1024 + at] = results[at + at / 16];
  }
}

// dequantize_groups (uncoalesced-stores): a thread unpacks a group of 32 weights of 4 bits, which share a scale, half by
// half: 32 sectors a request with 2 bytes each. 2 Mi groups are 69 M partial sectors; their 177 MB take 42 µs of DRAM.
// Fixed: a thread unpacks 8 weights and writes them with one store of 16 bytes.
__device__ inline half weight(unsigned word, int k, float scale) {
  return __float2half_rn((int)(word >> 4 * k & 15) * scale - 8 * scale);
}

extern "C" __global__ void __launch_bounds__(256)
    dequantize_groups(const uint4 *__restrict__ packed, const half *__restrict__ scales, half *__restrict__ y) {
  const size_t group = (size_t)blockIdx.x * 256 + threadIdx.x;
  const uint4 v = packed[group];
  const unsigned words[4] = {v.x, v.y, v.z, v.w};
  const float scale = __half2float(scales[group]);
#pragma unroll
  for (int k = 0; k < 32; k++) y[group * 32 + k] = weight(words[k / 8], k % 8, scale);
}

extern "C" __global__ void __launch_bounds__(256)
    dequantize_groups_fixed(const unsigned *__restrict__ packed, const half *__restrict__ scales, uint4 *__restrict__ y) {
  const size_t i = (size_t)blockIdx.x * 1024 + threadIdx.x;
#pragma unroll
  for (int j = 0; j < 4; j++) {
    const unsigned word = packed[i + j * 256];
    const float scale = __half2float(scales[(i + j * 256) / 4]);
    unsigned pairs[4];
#pragma unroll
    for (int k = 0; k < 4; k++) {
      const unsigned low = __half_as_ushort(weight(word, 2 * k, scale)), high = __half_as_ushort(weight(word, 2 * k + 1, scale));
      pairs[k] = low | high << 16;
    }
    y[i + j * 256] = make_uint4(pairs[0], pairs[1], pairs[2], pairs[3]);
  }
}
