// What several plants share.
#pragma once

// The sum of v over a warp, in every lane.
__device__ inline float warp_sum(float v) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) v += __shfl_xor_sync(0xffffffff, v, offset);
  return v;
}

// The sum of v over a block of whole warps, in thread 0.
__device__ inline float block_sum(float v) {
  __shared__ float sums[32];
  v = warp_sum(v);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x < 32) v = warp_sum(threadIdx.x < blockDim.x / 32 ? sums[threadIdx.x] : 0);
  return v;
}

// The chunk of 32 words where a warp's walk begins.
__device__ inline unsigned first_chunk(unsigned warp, unsigned mask) { return warp * 2654435761u & mask; }

// Reads a chunk of 32 words; its first word says which chunk comes next. Every step of the walk waits for the one
// before it, and every read is one whole line.
__device__ inline unsigned next_chunk(const unsigned *table, unsigned chunk, unsigned mask, float &value) {
  const unsigned word = table[chunk * 32 + threadIdx.x % 32];
  value = (word >> 8) * (1 / 16777216.f);
  return __shfl_sync(0xffffffff, word, 0) & mask;
}
