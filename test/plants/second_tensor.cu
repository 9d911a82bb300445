// A second face of tensor-unused.
#include "tensor.cuh"

// project_channels: a product of f16 matrices in tiles of 64 by 64 on the FMA pipe, 16 sums a thread.
// Fixed: the tensor cores.
extern "C" __global__ void __launch_bounds__(256)
    project_channels(const half *__restrict__ a, const half *__restrict__ b_t, half *__restrict__ c, int n, int k) {
  __shared__ __align__(16) float tile_a[16][68], tile_b[16][68];
  const int row = threadIdx.x / 4, part = threadIdx.x % 4 * 4;
  const int x = threadIdx.x % 16 * 4, y = threadIdx.x / 16 * 4;
  a += (size_t)(blockIdx.y * 64 + row) * k + part;
  b_t += (size_t)(blockIdx.x * 64 + row) * k + part;
  float sum[4][4] = {};
  for (int start = 0; start < k; start += 16) {
    const uint2 from_a = *(const uint2 *)(a + start), from_b = *(const uint2 *)(b_t + start);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 4; i++) {
      tile_a[part + i][row] = __half2float(((const half *)&from_a)[i]);
      tile_b[part + i][row] = __half2float(((const half *)&from_b)[i]);
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 16; i++) {
      const float4 u = *(const float4 *)&tile_a[i][y], v = *(const float4 *)&tile_b[i][x];
      const float rows[4] = {u.x, u.y, u.z, u.w}, columns[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
      for (int r = 0; r < 4; r++) {
#pragma unroll
        for (int s = 0; s < 4; s++) sum[r][s] += rows[r] * columns[s];
      }
    }
  }
  c += (size_t)(blockIdx.y * 64 + y) * n + blockIdx.x * 64 + x;
#pragma unroll
  for (int r = 0; r < 4; r++) {
    *(uint2 *)(c + (size_t)r * n) = make_uint2(pack<half>(sum[r][0], sum[r][1]), pack<half>(sum[r][2], sum[r][3]));
  }
}

extern "C" __global__ void __launch_bounds__(256, 2)
    project_channels_fixed(const half *__restrict__ a, const half *__restrict__ b_t, half *__restrict__ c, int n, int k) {
  multiply_by_mma(a, b_t, c, n, k);
}
