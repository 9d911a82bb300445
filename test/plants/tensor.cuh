// Products of f16 matrices on the tensor cores, which the twins of several plants use.
#pragma once

#include "../../examples/cuda/mma.cuh"

// c = a bᵀ in tiles of 128 by 128: 8 warps with 64 by 32 sums each, tiles of 32 columns in three stages.
__device__ inline void multiply_by_mma(const half *a, const half *b, half *c, int n, int k) {
  constexpr int STAGES = 3, TILE = 128 * 32 * 2; // bytes
  __shared__ __align__(128) char tiles[STAGES * 2 * TILE];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int first_row = warp / 4 * 64, first_column = warp % 4 * 32;
  const unsigned shared = shared_address(tiles);
  a += (size_t)blockIdx.y * 128 * k;
  b += (size_t)blockIdx.x * 128 * k;
  const auto fetch = [&](int stage) { // rows of 32 elements are 4 chunks of 16 bytes
    const unsigned to = shared + stage % STAGES * 2 * TILE;
    if (stage * 32 < k) {
#pragma unroll
      for (int i = threadIdx.x; i < 512; i += 256) {
        copy_async(to + chunk_at<32>(i / 4, i % 4), a + (size_t)(i / 4) * k + stage * 32 + i % 4 * 8, true);
        copy_async(to + TILE + chunk_at<32>(i / 4, i % 4), b + (size_t)(i / 4) * k + stage * 32 + i % 4 * 8, true);
      }
    }
    commit_copies();
  };
  float sum[4][4][4] = {};
  fetch(0);
  fetch(1);
  for (int stage = 0; stage * 32 < k; stage++) {
    wait_copies<STAGES - 2>();
    __syncthreads();
    fetch(stage + 2);
    const unsigned from = shared + stage % STAGES * 2 * TILE;
#pragma unroll
    for (int step = 0; step < 2; step++) {
      unsigned u[4][4], v[2][4];
#pragma unroll
      for (int r = 0; r < 4; r++) load_matrices(u[r], from + chunk_at<32>(first_row + r * 16 + lane % 16, step * 2 + lane / 16));
#pragma unroll
      for (int s = 0; s < 2; s++) {
        const int row = first_column + s * 16 + lane / 16 * 8 + lane % 8;
        load_matrices(v[s], from + TILE + chunk_at<32>(row, step * 2 + lane / 8 % 2));
      }
#pragma unroll
      for (int r = 0; r < 4; r++) {
#pragma unroll
        for (int s = 0; s < 4; s++) mma<half>(sum[r][s], u[r], v[s / 2][s % 2 * 2], v[s / 2][s % 2 * 2 + 1]);
      }
    }
  }
  __syncthreads();
  constexpr int WIDTH = 136; // of the rows in shared memory, so that they begin in different banks
  half *out = (half *)tiles;
#pragma unroll
  for (int r = 0; r < 4; r++) {
#pragma unroll
    for (int s = 0; s < 4; s++) {
      half *to = out + (first_row + r * 16 + lane / 4) * WIDTH + first_column + s * 8 + lane % 4 * 2;
      *(unsigned *)to = pack<half>(sum[r][s][0], sum[r][s][1]);
      *(unsigned *)(to + 8 * WIDTH) = pack<half>(sum[r][s][2], sum[r][s][3]);
    }
  }
  __syncthreads();
  c += (size_t)blockIdx.y * 128 * n + blockIdx.x * 128;
  for (int i = threadIdx.x; i < 128 * 16; i += 256) {
    *(uint4 *)(c + (size_t)(i / 16) * n + i % 16 * 8) = *(const uint4 *)(out + i / 16 * WIDTH + i % 16 * 8);
  }
}
