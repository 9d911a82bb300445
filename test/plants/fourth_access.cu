// Held-out faces: which words of global and of shared memory the lanes of a warp use.
#include "plant.cuh"

// node_strengths (uncoalesced-loads): a graph's node has 48 weights, which its thread adds one after the other: lanes read
// words 192 bytes apart, 32 lines a request.
// Fixed: 16 lanes share a node.
extern "C" __global__ void __launch_bounds__(256)
    node_strengths(const float *__restrict__ weights, float *__restrict__ y, float least) {
  const size_t node = (size_t)blockIdx.x * 256 + threadIdx.x;
  float sum = 0;
#pragma unroll 8
  for (int j = 0; j < 48; j++) {
    const float w = weights[node * 48 + j];
    sum += w > least ? w : 0;
  }
  y[node] = sum;
}

extern "C" __global__ void __launch_bounds__(256)
    node_strengths_fixed(const float *__restrict__ weights, float *__restrict__ y, float least) {
  const size_t node = (size_t)blockIdx.x * 16 + threadIdx.x / 16;
  float sum = 0;
#pragma unroll
  for (int j = 0; j < 3; j++) {
    const float w = weights[node * 48 + j * 16 + threadIdx.x % 16];
    sum += w > least ? w : 0;
  }
#pragma unroll
  for (int offset = 8; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffff, sum, offset);
  if (threadIdx.x % 16 == 0) y[node] = sum;
}

// The place of a pixel of a square texture along the Z-order curve: the bits of both coordinates in turns.
__device__ inline unsigned apart(unsigned v) {
  v = (v | v << 8) & 0xff00ff;
  v = (v | v << 4) & 0xf0f0f0f;
  v = (v | v << 2) & 0x33333333;
  return (v | v << 1) & 0x55555555;
}

__device__ inline unsigned together(unsigned v) {
  v &= 0x55555555;
  v = (v | v >> 1) & 0x33333333;
  v = (v | v >> 2) & 0xf0f0f0f;
  v = (v | v >> 4) & 0xff00ff;
  return (v | v >> 8) & 0xffff;
}

// z_order (uncoalesced-stores): a picture is brought into the order of a texture: lanes go along a row, two of whose pixels are
// neighbours there: 16 sectors a request with 8 bytes each.
// Fixed: lanes go along the curve; they read 8 neighbouring pixels of 4 rows.
extern "C" __global__ void __launch_bounds__(256) z_order(const float *__restrict__ x, float *__restrict__ y, int width) {
  const unsigned column = blockIdx.x * 256 + threadIdx.x, row = blockIdx.y;
  y[apart(column) | apart(row) << 1] = x[row * width + column] * 0.5f;
}

extern "C" __global__ void __launch_bounds__(256) z_order_fixed(const float *__restrict__ x, float *__restrict__ y, int width) {
  const unsigned i = blockIdx.x * 256 + threadIdx.x;
  y[i] = x[together(i >> 1) * width + together(i)] * 0.5f;
}

// summed_areas (bank-conflicts): the integrals of tiles of 64 by 64 pixels. In the first sweep a thread adds along a row: rows are
// 64 words, so all lanes are in one bank, 32 wavefronts for a load and for a store.
// Fixed: rows of 65 words.
template <int WIDTH>
__device__ inline void integrate_tile(const float *x, float *y) {
  __shared__ float tile[64 * WIDTH];
  x += (size_t)blockIdx.x * 4096;
  y += (size_t)blockIdx.x * 4096;
#pragma unroll 16
  for (int r = 0; r < 64; r++) tile[r * WIDTH + threadIdx.x] = x[r * 64 + threadIdx.x];
  __syncthreads();
  float sum = 0;
#pragma unroll 8
  for (int c = 0; c < 64; c++) {
    sum += tile[threadIdx.x * WIDTH + c];
    tile[threadIdx.x * WIDTH + c] = sum;
  }
  __syncthreads();
  sum = 0;
#pragma unroll 8
  for (int r = 0; r < 64; r++) {
    sum += tile[r * WIDTH + threadIdx.x];
    y[r * 64 + threadIdx.x] = sum;
  }
}

extern "C" __global__ void __launch_bounds__(64) summed_areas(const float *__restrict__ x, float *__restrict__ y) {
  integrate_tile<64>(x, y);
}

extern "C" __global__ void __launch_bounds__(64) summed_areas_fixed(const float *__restrict__ x, float *__restrict__ y) {
  integrate_tile<65>(x, y);
}
