// A held-out face of tensor-unused.
#include "tensor.cuh"

// gram_matrix: the products of all pairs of vectors, in tiles of 64 by 64 on the FMA pipe; a thread has 8 by 2 sums.
// Fixed: the tensor cores.
extern "C" __global__ void __launch_bounds__(256)
    gram_matrix(const half *__restrict__ a, half *__restrict__ c, int n, int k) {
  __shared__ __align__(16) float tile_a[16][68], tile_b[16][68];
  const int row = threadIdx.x / 4, part = threadIdx.x % 4 * 4;
  const int x = threadIdx.x % 32 * 2, y = threadIdx.x / 32 * 8;
  const half *from_a = a + (size_t)(blockIdx.y * 64 + row) * k + part, *from_b = a + (size_t)(blockIdx.x * 64 + row) * k + part;
  float sum[8][2] = {};
#pragma unroll 1
  for (int start = 0; start < k; start += 16) {
    const uint2 u = *(const uint2 *)(from_a + start), v = *(const uint2 *)(from_b + start);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 4; i++) {
      tile_a[part + i][row] = __half2float(((const half *)&u)[i]);
      tile_b[part + i][row] = __half2float(((const half *)&v)[i]);
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 16; i++) {
      const float4 s = *(const float4 *)&tile_a[i][y], t = *(const float4 *)&tile_a[i][y + 4];
      const float2 w = *(const float2 *)&tile_b[i][x];
      const float rows[8] = {s.x, s.y, s.z, s.w, t.x, t.y, t.z, t.w};
#pragma unroll
      for (int r = 0; r < 8; r++) {
        sum[r][0] += rows[r] * w.x;
        sum[r][1] += rows[r] * w.y;
      }
    }
  }
#pragma unroll
  for (int r = 0; r < 8; r++) *(unsigned *)(c + (size_t)(blockIdx.y * 64 + y + r) * n + blockIdx.x * 64 + x) = pack<half>(sum[r][0], sum[r][1]);
}

extern "C" __global__ void __launch_bounds__(256, 2) gram_matrix_fixed(const half *__restrict__ a, half *__restrict__ c, int n, int k) {
  multiply_by_mma(a, a, c, n, k);
}
