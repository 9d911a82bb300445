// tensor-unused: products of f16 matrices on the FMA pipe.
#include "tensor.cuh"

// c = a bᵀ in tiles of 128 by 128, by 256 threads with 8 by 8 sums each. The halves become floats on their way into shared
// memory: 64 FMAs for 4 loads of 16 bytes. At best 61 TFLOP/s, where the tensor cores do 600.
__device__ inline void multiply_by_fma(const half *a, const half *b, half *c, int n, int k) {
  __shared__ __align__(16) float tile_a[16 * 128 + 16], tile_b[16 * 128 + 16]; // the lower 8 rows 16 banks further on
  const int row = threadIdx.x / 2, part = threadIdx.x % 2 * 8;
  const int x = threadIdx.x % 16 * 4, y = threadIdx.x / 16 * 4;
  a += (size_t)(blockIdx.y * 128 + row) * k + part;
  b += (size_t)(blockIdx.x * 128 + row) * k + part;
  float sum[8][8] = {};
  uint4 next_a = *(const uint4 *)a, next_b = *(const uint4 *)b;
  for (int start = 0; start < k; start += 16) {
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 8; i++) {
      tile_a[(part + i) * 128 + part * 2 + row] = __half2float(((const half *)&next_a)[i]);
      tile_b[(part + i) * 128 + part * 2 + row] = __half2float(((const half *)&next_b)[i]);
    }
    __syncthreads();
    if (start + 16 < k) {
      next_a = *(const uint4 *)(a + start + 16);
      next_b = *(const uint4 *)(b + start + 16);
    }
#pragma unroll
    for (int i = 0; i < 16; i++) {
      const float4 *from_a = (const float4 *)&tile_a[i * 128 + i / 8 * 16 + y], a0 = from_a[0], a1 = from_a[16];
      const float4 *from_b = (const float4 *)&tile_b[i * 128 + i / 8 * 16 + x], b0 = from_b[0], b1 = from_b[16];
      const float u[8] = {a0.x, a0.y, a0.z, a0.w, a1.x, a1.y, a1.z, a1.w};
      const float v[8] = {b0.x, b0.y, b0.z, b0.w, b1.x, b1.y, b1.z, b1.w};
#pragma unroll
      for (int r = 0; r < 8; r++) {
#pragma unroll
        for (int s = 0; s < 8; s++) sum[r][s] += u[r] * v[s];
      }
    }
  }
  c += (size_t)blockIdx.y * 128 * n + blockIdx.x * 128;
#pragma unroll
  for (int r = 0; r < 8; r++) {
    half *to = c + (size_t)(y + r % 4 + r / 4 * 64) * n + x;
#pragma unroll
    for (int s = 0; s < 8; s += 4) {
      *(uint2 *)(to + s * 16) = make_uint2(pack<half>(sum[r][s], sum[r][s + 1]), pack<half>(sum[r][s + 2], sum[r][s + 3]));
    }
  }
}

// linear_layer: a product with K of 2048, 35 GFLOP: 580 µs on the FMA pipe, 60 on the tensor cores.
extern "C" __global__ void __launch_bounds__(256, 2)
    linear_layer(const half *__restrict__ a, const half *__restrict__ b_t, half *__restrict__ c, int n, int k) {
  multiply_by_fma(a, b_t, c, n, k);
}

extern "C" __global__ void __launch_bounds__(256, 2)
    linear_layer_fixed(const half *__restrict__ a, const half *__restrict__ b_t, half *__restrict__ c, int n, int k) {
  multiply_by_mma(a, b_t, c, n, k);
}

// attention_scores: q kᵀ for many heads of 64: 16 FMAs for every byte that moves; on the tensor cores DRAM is the limit.
extern "C" __global__ void __launch_bounds__(256, 2)
    attention_scores(const half *__restrict__ a, const half *__restrict__ b_t, half *__restrict__ c, int s, int d) {
  const size_t in = (size_t)blockIdx.z * s * d, out = (size_t)blockIdx.z * s * s;
  multiply_by_fma(a + in, b_t + in, c + out, s, d);
}

extern "C" __global__ void __launch_bounds__(256, 2)
    attention_scores_fixed(const half *__restrict__ a, const half *__restrict__ b_t, half *__restrict__ c, int s, int d) {
  const size_t in = (size_t)blockIdx.z * s * d, out = (size_t)blockIdx.z * s * s;
  multiply_by_mma(a + in, b_t + in, c + out, s, d);
}
