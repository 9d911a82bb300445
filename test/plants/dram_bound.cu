// dram-bound: every byte that is read has to be read, and DRAM delivers them as fast as it can. A fix needs other bytes:
// the twins compute what the plants read.
#include "plant.cuh"

// position_table: sums a polynomial of the numbers 0, 1, 2, … that lie in a table: 4 bytes and about 6 instructions each.
// 64 Mi of them are 62 µs of DRAM and 12 µs of instructions.
// Fixed: the twin knows that number i is i, and reads nothing.
__device__ inline float of_position(int p) {
  const float t = __int_as_float(p & 1023 | 0x4b000000) * (1 / 1024.f) - 8192; // 2²³ + p, without the XU's conversion
  return (t * 0.75f - 0.5f) * t + 0.125f;
}

extern "C" __global__ void __launch_bounds__(256)
    position_table(const int4 *__restrict__ positions, float *__restrict__ sums, int per_block) {
  const int4 *from = positions + (size_t)blockIdx.x * per_block / 4;
  float sum = 0;
#pragma unroll 4
  for (int i = threadIdx.x; i < per_block / 4; i += 256) {
    const int4 p = from[i];
    sum += of_position(p.x) + of_position(p.y) + (of_position(p.z) + of_position(p.w));
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

extern "C" __global__ void __launch_bounds__(256)
    position_table_fixed(const int4 *__restrict__ positions, float *__restrict__ sums, int per_block) {
  const int first = blockIdx.x * per_block;
  float sum = 0;
#pragma unroll 4
  for (int i = threadIdx.x; i < per_block / 4; i += 256) {
    int4 p = make_int4(first + 4 * i, first + 4 * i + 1, first + 4 * i + 2, first + 4 * i + 3);
    asm volatile("" : "+r"(p.x), "+r"(p.y), "+r"(p.z), "+r"(p.w)); // as if they had been read: as much arithmetic as the plant
    sum += of_position(p.x) + of_position(p.y) + (of_position(p.z) + of_position(p.w));
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

// stored_mask: multiplies a vector by a matrix of ones and zeros that only says which columns count. 8192² are 256 MiB,
// 62 µs; the vector stays in the caches.
// Fixed: the twin compares the column with the width.
extern "C" __global__ void __launch_bounds__(256)
    stored_mask(const float4 *__restrict__ mask, const float4 *__restrict__ v, float *__restrict__ y, int n, int width) {
  const int row = blockIdx.x * 8 + threadIdx.x / 32;
  const float4 *m = mask + (size_t)row * n / 4;
  float sum = 0;
#pragma unroll 8
  for (int c = threadIdx.x % 32; c < n / 4; c += 32) {
    const float4 a = m[c], b = v[c];
    sum += a.x * b.x + a.y * b.y + (a.z * b.z + a.w * b.w);
  }
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) y[row] = sum;
}

extern "C" __global__ void __launch_bounds__(256)
    stored_mask_fixed(const float4 *__restrict__ mask, const float4 *__restrict__ v, float *__restrict__ y, int n, int width) {
  const int row = blockIdx.x * 8 + threadIdx.x / 32;
  float sum = 0;
#pragma unroll 8
  for (int c = threadIdx.x % 32; c < n / 4; c += 32) {
    const float4 b = v[c];
    if (4 * c < width) sum += b.x + b.y + (b.z + b.w);
  }
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) y[row] = sum;
}
