// Held-out faces: registers that a thread has not, or has too many of.
#include "plant.cuh"

// matrix_powers (register-spills): every thread sums the powers of its matrix of 6 by 6: 78 numbers that live through all
// steps, in the 48 registers that 5 blocks an SM leave. 216 FMAs a step, 54 cycles, and a hundred or more loads and stores
// of local memory, one cycle of the L1 each.
// Fixed: no minimum of blocks.
__device__ inline void add_powers(const float *x, float *y, int n, int steps) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  float m[36], a[36];
#pragma unroll
  for (int j = 0; j < 36; j++) a[j] = m[j] = x[(size_t)j * n + i];
#pragma unroll 1
  for (int s = 0; s < steps; s++) {
#pragma unroll
    for (int r = 0; r < 6; r++) {
      float row[6];
#pragma unroll
      for (int c = 0; c < 6; c++) {
        row[c] = r == c;
#pragma unroll
        for (int k = 0; k < 6; k++) row[c] += a[r * 6 + k] * m[k * 6 + c];
      }
#pragma unroll
      for (int c = 0; c < 6; c++) a[r * 6 + c] = row[c];
    }
  }
#pragma unroll
  for (int j = 0; j < 36; j++) y[(size_t)j * n + i] = a[j];
}

extern "C" __global__ void __launch_bounds__(256, 5)
    matrix_powers(const float *__restrict__ x, float *__restrict__ y, int n, int steps) {
  add_powers(x, y, n, steps);
}

extern "C" __global__ void __launch_bounds__(256)
    matrix_powers_fixed(const float *__restrict__ x, float *__restrict__ y, int n, int steps) {
  add_powers(x, y, n, steps);
}

// align_reads (register-spills): local alignment of a read of 64 letters a thread, whose letters are two planes of bits. The
// loop over the read's cells is not unrolled, so the 64 scores lie in local memory: 512 KB an SM, twice its L1. A load and
// a store a cell, from and to the L2, against about 8 integer instructions.
// Fixed: the loop is unrolled, and the scores stay in registers.
template <int UNROLLED>
__device__ inline void align(const unsigned *text, const unsigned *low, const unsigned *high, int *best_score, int n, int steps) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  int h[64], best = 0;
#pragma unroll
  for (int j = 0; j < 64; j++) h[j] = 0;
  const unsigned l[2] = {low[i], low[n + i]}, u[2] = {high[i], high[n + i]};
#pragma unroll 1
  for (int k = 0; k < steps; k++) {
    const unsigned letter = text[k], flip_low = letter & 1 ? 0 : ~0u, flip_high = letter & 2 ? 0 : ~0u;
    const unsigned equal[2] = {(l[0] ^ flip_low) & (u[0] ^ flip_high), (l[1] ^ flip_low) & (u[1] ^ flip_high)};
    int corner = 0, above = 0;
#pragma unroll
    for (int w = 0; w < 2; w++) {
      unsigned bits = equal[w];
#pragma unroll(UNROLLED)
      for (int j = 0; j < 32; j++) {
        const int left = h[w * 32 + j];
        const int here = max(max(corner + (bits & 1 ? 2 : -1), 0), max(left, above) - 1);
        bits >>= 1;
        corner = left;
        above = here;
        best = max(best, here);
        h[w * 32 + j] = here;
      }
    }
  }
  best_score[i] = best;
}

extern "C" __global__ void __launch_bounds__(128)
    align_reads(const unsigned *__restrict__ text, const unsigned *__restrict__ low, const unsigned *__restrict__ high,
                int *__restrict__ best_score, int n, int steps) {
  align<1>(text, low, high, best_score, n, steps);
}

extern "C" __global__ void __launch_bounds__(128, 4)
    align_reads_fixed(const unsigned *__restrict__ text, const unsigned *__restrict__ low, const unsigned *__restrict__ high,
                      int *__restrict__ best_score, int n, int steps) {
  align<32>(text, low, high, best_score, n, steps);
}

// graph_layer (register-occupancy): a warp adds the features of a node's 32 neighbours, one line at a time, and multiplies the
// sum by a matrix of 32 by 128, of which every lane keeps 128 numbers in registers: about 160 of them, 12 warps an SM.
// 32 loads that wait for each other, about 11,000 cycles, against 170 instructions.
// Fixed: the matrix lies in shared memory, 128 cycles a node; 48 warps an SM.
template <bool KEPT>
__device__ inline void layer(const float *features, const unsigned *neighbours, const float *weights, float *y, unsigned mask,
                             int nodes) {
  __shared__ float4 shared[KEPT ? 1 : 1024];
  const int lane = threadIdx.x % 32;
  float kept[128];
  if (KEPT) {
#pragma unroll
    for (int j = 0; j < 128; j++) kept[j] = weights[j * 32 + lane];
  } else {
    for (int i = threadIdx.x; i < 1024; i += 384) {
      const float *from = weights + i / 32 * 128 + i % 32;
      shared[i] = make_float4(from[0], from[32], from[64], from[96]);
    }
    __syncthreads();
  }
#pragma unroll 1
  for (int node = blockIdx.x * 12 + threadIdx.x / 32; node < nodes; node += gridDim.x * 12) {
    const unsigned own = neighbours[(size_t)node * 32 + lane] & mask;
    float sum = 0;
#pragma unroll 1
    for (int k = 0; k < 32; k++) sum += features[(size_t)__shfl_sync(0xffffffff, own, k) * 32 + lane];
    float out[4] = {};
#pragma unroll
    for (int k = 0; k < 32; k++) {
      const float v = __shfl_sync(0xffffffff, sum, k);
      if (KEPT) {
#pragma unroll
        for (int j = 0; j < 4; j++) out[j] += v * kept[k * 4 + j];
      } else {
        const float4 w = shared[k * 32 + lane];
        out[0] += v * w.x, out[1] += v * w.y, out[2] += v * w.z, out[3] += v * w.w;
      }
    }
#pragma unroll
    for (int j = 0; j < 4; j++) y[(size_t)node * 128 + j * 32 + lane] = out[j];
  }
}

extern "C" __global__ void __launch_bounds__(384)
    graph_layer(const float *__restrict__ features, const unsigned *__restrict__ neighbours, const float *__restrict__ weights,
                float *__restrict__ y, unsigned mask, int nodes) {
  layer<true>(features, neighbours, weights, y, mask, nodes);
}

extern "C" __global__ void __launch_bounds__(384, 4)
    graph_layer_fixed(const float *__restrict__ features, const unsigned *__restrict__ neighbours, const float *__restrict__ weights,
                      float *__restrict__ y, unsigned mask, int nodes) {
  layer<false>(features, neighbours, weights, y, mask, nodes);
}
