// A held-out face of tensor-unused.
#include "tensor.cuh"

// convolve_3x3: 64 channels in and 64 out, halves, with a frame of one pixel around the picture. A block makes the 64 channels
// of 128 neighbouring pixels by FMAs, 32 sums a thread: 10 GFLOP and 34 MB for 132 rows of 1024 pixels, 200 µs.
// Fixed: the tensor cores, a tap at a time; the next one's numbers come meanwhile.
extern "C" __global__ void __launch_bounds__(256)
    convolve_3x3(const half *__restrict__ x, const half *__restrict__ w, half *__restrict__ y, int width) {
  __shared__ __align__(16) float pixels[16][132], outputs[16][68];
  const int own = threadIdx.x / 2, part = threadIdx.x % 2 * 8;
  const int column = threadIdx.x % 16 * 4, row = threadIdx.x / 16 * 8;
  float sum[8][4] = {};
#pragma unroll 1
  for (int step = 0; step < 9 * 4; step++) { // 16 channels of a tap
    const int tap = step / 4, channel = step % 4 * 16 + part;
    const size_t pixel = (size_t)(blockIdx.y + tap / 3) * (width + 2) + blockIdx.x * 128 + tap % 3 + own;
    const uint4 from_x = *(const uint4 *)(x + pixel * 64 + channel);
    uint4 from_w;
    if (threadIdx.x < 128) from_w = *(const uint4 *)(w + (tap * 64 + own) * 64 + channel);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 8; i++) {
      pixels[part + i][own] = __half2float(((const half *)&from_x)[i]);
      if (threadIdx.x < 128) outputs[part + i][own] = __half2float(((const half *)&from_w)[i]);
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 16; i++) {
      const float4 a = *(const float4 *)&pixels[i][row], b = *(const float4 *)&pixels[i][row + 4], v = *(const float4 *)&outputs[i][column];
      const float rows[8] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w}, columns[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
      for (int r = 0; r < 8; r++) {
#pragma unroll
        for (int s = 0; s < 4; s++) sum[r][s] += rows[r] * columns[s];
      }
    }
  }
  y += ((size_t)blockIdx.y * width + blockIdx.x * 128 + row) * 64 + column;
#pragma unroll
  for (int r = 0; r < 8; r++) {
    *(uint2 *)(y + r * 64) = make_uint2(pack<half>(sum[r][0], sum[r][1]), pack<half>(sum[r][2], sum[r][3]));
  }
}

extern "C" __global__ void __launch_bounds__(256, 2)
    convolve_3x3_fixed(const half *__restrict__ x, const half *__restrict__ w, half *__restrict__ y, int width) {
  constexpr int PIXELS = 128 * 64 * 2, STAGE = PIXELS + 64 * 64 * 2; // bytes
  __shared__ __align__(128) char tiles[2 * STAGE];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int first_row = warp / 2 * 32, first_column = warp % 2 * 32;
  const unsigned shared = shared_address(tiles);
  const auto fetch = [&](int tap) { // rows of 64 elements are 8 chunks of 16 bytes
    if (tap < 9) {
      const unsigned to = shared + tap % 2 * STAGE;
      const size_t pixel = (size_t)(blockIdx.y + tap / 3) * (width + 2) + blockIdx.x * 128 + tap % 3;
#pragma unroll
      for (int i = threadIdx.x; i < 1024; i += 256) copy_async(to + chunk_at<64>(i / 8, i % 8), x + pixel * 64 + i * 8, true);
#pragma unroll
      for (int i = threadIdx.x; i < 512; i += 256) copy_async(to + PIXELS + chunk_at<64>(i / 8, i % 8), w + tap * 4096 + i * 8, true);
    }
    commit_copies();
  };
  float sum[2][4][4] = {};
  fetch(0);
#pragma unroll 1
  for (int tap = 0; tap < 9; tap++) {
    fetch(tap + 1);
    wait_copies<1>();
    __syncthreads();
    const unsigned from = shared + tap % 2 * STAGE;
#pragma unroll
    for (int step = 0; step < 4; step++) {
      unsigned u[2][4], v[2][4];
#pragma unroll
      for (int r = 0; r < 2; r++) load_matrices(u[r], from + chunk_at<64>(first_row + r * 16 + lane % 16, step * 2 + lane / 16));
#pragma unroll
      for (int s = 0; s < 2; s++) {
        const int row = first_column + s * 16 + lane / 16 * 8 + lane % 8;
        load_matrices(v[s], from + PIXELS + chunk_at<64>(row, step * 2 + lane / 8 % 2));
      }
#pragma unroll
      for (int r = 0; r < 2; r++) {
#pragma unroll
        for (int s = 0; s < 4; s++) mma<half>(sum[r][s], u[r], v[s / 2][s % 2 * 2], v[s / 2][s % 2 * 2 + 1]);
      }
    }
    __syncthreads();
  }
  constexpr int WIDTH = 72; // of the rows in shared memory, so that they begin in different banks
  half *out = (half *)tiles;
#pragma unroll
  for (int r = 0; r < 2; r++) {
#pragma unroll
    for (int s = 0; s < 4; s++) {
      half *to = out + (first_row + r * 16 + lane / 4) * WIDTH + first_column + s * 8 + lane % 4 * 2;
      *(unsigned *)to = pack<half>(sum[r][s][0], sum[r][s][1]);
      *(unsigned *)(to + 8 * WIDTH) = pack<half>(sum[r][s][2], sum[r][s][3]);
    }
  }
  __syncthreads();
  y += ((size_t)blockIdx.y * width + blockIdx.x * 128) * 64;
#pragma unroll
  for (int i = threadIdx.x; i < 1024; i += 256) *(uint4 *)(y + i * 8) = *(const uint4 *)(out + i / 8 * WIDTH + i % 8 * 8);
}
