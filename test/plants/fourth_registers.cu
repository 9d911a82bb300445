// Held-out faces: what does not fit into registers, what takes too many of them, and too much of shared memory.
#include "plant.cuh"

// sort_and_mix (register-spills): every thread sorts its 32 numbers by a network of 240 exchanges, again and again, with other
// numbers between; 32 registers, which 8 blocks an SM leave, do not hold them.
// Fixed: no minimum of blocks, about 45 registers.
__device__ inline void exchange(float &a, float &b) {
  const float low = fminf(a, b);
  b = fmaxf(a, b);
  a = low;
}

__device__ inline void sort_rounds(const float *x, float *y, int n, int rounds) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  float v[32];
#pragma unroll
  for (int j = 0; j < 32; j++) v[j] = x[(size_t)j * n + i];
#pragma unroll 1
  for (int r = 0; r < rounds; r++) {
#pragma unroll
    for (int size = 2; size <= 32; size *= 2) {
#pragma unroll
      for (int apart = size / 2; apart > 0; apart /= 2) {
#pragma unroll
        for (int j = 0; j < 32; j++) {
          if (j & apart) continue;
          if (j & size) exchange(v[j | apart], v[j]);
          else exchange(v[j], v[j | apart]);
        }
      }
    }
#pragma unroll
    for (int j = 0; j < 32; j++) v[j] = v[j] * (j % 3 - 1.25f) + 0.5f;
  }
  float sum = 0;
#pragma unroll
  for (int j = 0; j < 32; j++) sum += v[j] * (j + 1);
  y[i] = sum;
}

extern "C" __global__ void __launch_bounds__(256, 8)
    sort_and_mix(const float *__restrict__ x, float *__restrict__ y, int n, int rounds) {
  sort_rounds(x, y, n, rounds);
}

extern "C" __global__ void __launch_bounds__(256)
    sort_and_mix_fixed(const float *__restrict__ x, float *__restrict__ y, int n, int rounds) {
  sort_rounds(x, y, n, rounds);
}

// chained_features (register-occupancy): a warp follows the chain of a hash table, eight entries that wait for each other, then
// weighs what it has found by 128 weights, which stay in registers from the start: about 170 registers, 12 warps an SM, each
// with one line under way.
// Fixed: the weights lie in shared memory; all lanes read the same ones.
template <bool KEPT>
__device__ inline void weigh_chains(const unsigned *table, const float *weights, float *y, unsigned mask, int tokens) {
  __shared__ float4 shared[KEPT ? 1 : 32];
  const int lane = threadIdx.x % 32, warp = blockIdx.x * 4 + threadIdx.x / 32;
  float kept[128];
  if (KEPT) {
#pragma unroll
    for (int j = 0; j < 128; j++) kept[j] = weights[j];
  } else {
    if (threadIdx.x < 32) shared[threadIdx.x] = ((const float4 *)weights)[threadIdx.x];
    __syncthreads();
  }
  float sums[4] = {0, 0, 0, 0};
#pragma unroll 1
  for (int t = 0; t < tokens; t++) {
    unsigned at = first_chunk(warp * tokens + t, mask);
    float value = 0, part;
#pragma unroll 1
    for (int k = 0; k < 8; k++) {
      at = next_chunk(table, at, mask, part);
      value = value * 0.5f + part;
    }
#pragma unroll
    for (int j = 0; j < 32; j++) {
      float4 w;
      if (KEPT) w = make_float4(kept[j * 4], kept[j * 4 + 1], kept[j * 4 + 2], kept[j * 4 + 3]);
      else w = shared[j];
      sums[0] = sums[0] * 0.5f + value * w.x, sums[1] = sums[1] * 0.5f + value * w.y;
      sums[2] = sums[2] * 0.5f + value * w.z, sums[3] = sums[3] * 0.5f + value * w.w;
    }
  }
  y[warp * 32 + lane] = sums[0] + sums[1] + (sums[2] + sums[3]);
}

extern "C" __global__ void __launch_bounds__(128)
    chained_features(const unsigned *__restrict__ table, const float *__restrict__ weights, float *__restrict__ y, unsigned mask,
                     int tokens) {
  weigh_chains<true>(table, weights, y, mask, tokens);
}

extern "C" __global__ void __launch_bounds__(128)
    chained_features_fixed(const unsigned *__restrict__ table, const float *__restrict__ weights, float *__restrict__ y, unsigned mask,
                           int tokens) {
  weigh_chains<false>(table, weights, y, mask, tokens);
}

// lz_window (shared-occupancy): a warp unpacks a stream, 32 words a step, each a literal plus a word written up to 512 words
// before. It keeps a window of 12,288 words, 48 KB, as the format allows: four blocks of one warp an SM.
// Fixed: a window of 1024 words, which the stream needs: 32 blocks an SM.
template <int WINDOW>
__device__ inline void unpack_stream(const unsigned *stream, unsigned *y, int steps) {
  extern __shared__ unsigned window[];
  const int lane = threadIdx.x;
  stream += (size_t)blockIdx.x * steps * 32;
  y += (size_t)blockIdx.x * steps * 32;
  for (int i = lane; i < WINDOW; i += 32) window[i] = 0;
  __syncwarp();
  int at = WINDOW - 32;
#pragma unroll 1
  for (int s = 0; s < steps; s++) {
    const unsigned word = stream[s * 32 + lane];
    at = at + 32 < WINDOW ? at + 32 : 0;
    int from = at + lane - 32 - (int)(word & 479);
    from += from < 0 ? WINDOW : 0;
    const unsigned v = (word >> 9) + window[from];
    __syncwarp();
    window[at + lane] = v;
    y[s * 32 + lane] = v;
    __syncwarp();
  }
}

extern "C" __global__ void __launch_bounds__(32) lz_window(const unsigned *__restrict__ stream, unsigned *__restrict__ y, int steps) {
  unpack_stream<12288>(stream, y, steps);
}

extern "C" __global__ void __launch_bounds__(32)
    lz_window_fixed(const unsigned *__restrict__ stream, unsigned *__restrict__ y, int steps) {
  unpack_stream<1024>(stream, y, steps);
}
