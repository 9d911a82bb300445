// Held-out faces of launch-bound.
#include "plant.cuh"

// pass_per_launch: the 12 passes of Fourier transforms of 4096 points, one launch each, which takes 2 µs.
// Fixed: one launch; a block keeps its transform in shared memory.
__device__ inline void butterfly(float2 *points, int j, int half) {
  const int within = j & half - 1;
  float2 w, &to = points[j * 2 - within], &far = points[j * 2 - within + half];
  __sincosf(-3.14159265f / half * within, &w.y, &w.x);
  const float2 a = to, b = make_float2(far.x * w.x - far.y * w.y, far.x * w.y + far.y * w.x);
  to = make_float2(a.x + b.x, a.y + b.y);
  far = make_float2(a.x - b.x, a.y - b.y);
}

extern "C" __global__ void __launch_bounds__(256) pass_per_launch(float2 *__restrict__ y, int half) {
  const int j = blockIdx.x * 256 + threadIdx.x; // 2048 butterflies a transform
  butterfly(y + (size_t)(j / 2048) * 4096, j % 2048, half);
}

extern "C" __global__ void __launch_bounds__(1024) pass_per_launch_fixed(float2 *__restrict__ y) {
  __shared__ float2 points[4096];
  y += (size_t)blockIdx.x * 4096;
#pragma unroll
  for (int k = 0; k < 4; k++) points[k * 1024 + threadIdx.x] = y[k * 1024 + threadIdx.x];
#pragma unroll 1
  for (int half = 1; half < 4096; half *= 2) {
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 2; k++) butterfly(points, k * 1024 + threadIdx.x, half);
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < 4; k++) y[k * 1024 + threadIdx.x] = points[k * 1024 + threadIdx.x];
}

// generation_per_launch: 16 generations of the game of life on boards of 64 by 64 cells without edges, one launch each.
// Fixed: one launch; a block keeps its board in shared memory.
__device__ inline unsigned next_cell(const unsigned *board, int i) {
  const int row = i & ~63, column = i & 63, up = row - 64 & 4095, down = row + 64 & 4095, left = column - 1 & 63, right = column + 1 & 63;
  const unsigned near = board[up | left] + board[up | column] + board[up | right] + board[row | left] + board[row | right] +
                        board[down | left] + board[down | column] + board[down | right];
  return near == 3 || (near == 2 && board[i]);
}

extern "C" __global__ void __launch_bounds__(256) generation_per_launch(const unsigned *__restrict__ from, unsigned *__restrict__ to) {
  const int i = blockIdx.x * 256 + threadIdx.x, board = i & ~4095;
  to[i] = next_cell(from + board, i & 4095);
}

extern "C" __global__ void __launch_bounds__(1024) generation_per_launch_fixed(unsigned *__restrict__ cells, unsigned *) {
  __shared__ unsigned boards[2][4096];
  cells += (size_t)blockIdx.x * 4096;
#pragma unroll
  for (int k = 0; k < 4; k++) boards[0][k * 1024 + threadIdx.x] = cells[k * 1024 + threadIdx.x];
  __syncthreads();
#pragma unroll 1
  for (int g = 0; g < 16; g++) {
#pragma unroll
    for (int k = 0; k < 4; k++) boards[(g + 1) % 2][k * 1024 + threadIdx.x] = next_cell(boards[g % 2], k * 1024 + threadIdx.x);
    __syncthreads();
  }
#pragma unroll
  for (int k = 0; k < 4; k++) cells[k * 1024 + threadIdx.x] = boards[0][k * 1024 + threadIdx.x];
}
