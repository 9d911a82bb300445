// Kernels with nothing planted in them: each reads its inputs once, writes its outputs once, in wide accesses with enough
// of them under way; the last one keeps the FMA pipe busy.
#include <cuda_fp16.h>

#include "plant.cuh"

extern "C" __global__ void __launch_bounds__(256)
    healthy_triad(const float4 *__restrict__ x, const float4 *__restrict__ y, float4 *__restrict__ z, float a) {
  const size_t i = (size_t)blockIdx.x * 512 + threadIdx.x;
  const float4 u = x[i], v = y[i], s = x[i + 256], t = y[i + 256];
  z[i] = make_float4(u.x * a + v.x, u.y * a + v.y, u.z * a + v.z, u.w * a + v.w);
  z[i + 256] = make_float4(s.x * a + t.x, s.y * a + t.y, s.z * a + t.z, s.w * a + t.w);
}

// A row of 1024 numbers, 8 times 4 a lane.
struct Row {
  float4 v[8];

  __device__ explicit Row(const float4 *x) {
#pragma unroll
    for (int j = 0; j < 8; j++) v[j] = x[j * 32 + threadIdx.x % 32];
  }
  template <typename F>
  __device__ void each(F f) {
#pragma unroll
    for (int j = 0; j < 8; j++) f(v[j].x), f(v[j].y), f(v[j].z), f(v[j].w);
  }
  __device__ void store(float4 *y) const {
#pragma unroll
    for (int j = 0; j < 8; j++) y[j * 32 + threadIdx.x % 32] = v[j];
  }
};

__device__ inline size_t row_at() { return ((size_t)blockIdx.x * 4 + threadIdx.x / 32) * 256; }

__device__ inline float warp_max(float v) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) v = fmaxf(v, __shfl_xor_sync(0xffffffff, v, offset));
  return v;
}

extern "C" __global__ void __launch_bounds__(128) healthy_softmax(const float4 *__restrict__ x, float4 *__restrict__ y) {
  Row row(x + row_at());
  float top = -3.4e38f, sum = 0;
  row.each([&](float &v) { top = fmaxf(top, v); });
  top = warp_max(top);
  row.each([&](float &v) { sum += v = __expf(v - top); });
  const float factor = __fdividef(1, warp_sum(sum));
  row.each([&](float &v) { v *= factor; });
  row.store(y + row_at());
}

extern "C" __global__ void __launch_bounds__(128)
    healthy_layernorm(const float4 *__restrict__ x, float4 *__restrict__ y, float eps) {
  Row row(x + row_at());
  float sum = 0, squares = 0;
  row.each([&](float &v) { sum += v; });
  const float mean = warp_sum(sum) / 1024;
  row.each([&](float &v) { v -= mean, squares += v * v; });
  const float factor = rsqrtf(warp_sum(squares) / 1024 + eps);
  row.each([&](float &v) { v *= factor; });
  row.store(y + row_at());
}

extern "C" __global__ void __launch_bounds__(128) healthy_row_max(const float4 *__restrict__ x, float *__restrict__ y) {
  Row row(x + row_at());
  float top = -3.4e38f;
  row.each([&](float &v) { top = fmaxf(top, v); });
  top = warp_max(top);
  if (threadIdx.x % 32 == 0) y[row_at() / 256] = top;
}

extern "C" __global__ void __launch_bounds__(128) healthy_row_scan(const float4 *__restrict__ x, float4 *__restrict__ y) {
  const int lane = threadIdx.x % 32;
  Row row(x + row_at());
  float carry = 0;
#pragma unroll
  for (int j = 0; j < 8; j++) {
    float4 &v = row.v[j];
    v.y += v.x, v.z += v.y, v.w += v.z;
    float before = v.w;
#pragma unroll
    for (int offset = 1; offset < 32; offset *= 2) {
      const float other = __shfl_up_sync(0xffffffff, before, offset);
      if (lane >= offset) before += other;
    }
    const float all = __shfl_sync(0xffffffff, before, 31);
    before += carry - v.w;
    v.x += before, v.y += before, v.z += before, v.w += before;
    carry += all;
  }
  row.store(y + row_at());
}

extern "C" __global__ void __launch_bounds__(128)
    healthy_gather(const float4 *__restrict__ table, const unsigned *__restrict__ rows, float4 *__restrict__ y, unsigned mask) {
  const size_t from = rows[row_at() / 256] & mask;
  Row(table + from * 256).store(y + row_at());
}

extern "C" __global__ void __launch_bounds__(256) healthy_gelu(const uint4 *__restrict__ x, uint4 *__restrict__ y) {
  const size_t i = (size_t)blockIdx.x * 512 + threadIdx.x;
  uint4 v[2] = {x[i], x[i + 256]};
  half2 *h = (half2 *)v;
#pragma unroll
  for (int j = 0; j < 8; j++) {
    float2 f = __half22float2(h[j]);
    float *e = (float *)&f;
#pragma unroll
    for (int k = 0; k < 2; k++) {
      float t = e[k] * (0.7978846f + 0.03567741f * e[k] * e[k]);
      asm("tanh.approx.f32 %0, %0;" : "+f"(t));
      e[k] *= 0.5f + 0.5f * t;
    }
    h[j] = __float22half2_rn(f);
  }
  y[i] = v[0], y[i + 256] = v[1];
}

// Pairs of neighbours are turned by an angle that depends on their place; the table stays in the L2.
extern "C" __global__ void __launch_bounds__(256)
    healthy_rotary(const float4 *__restrict__ x, const float4 *__restrict__ table, float4 *__restrict__ y, int mask) {
  const size_t i = (size_t)blockIdx.x * 512 + threadIdx.x;
#pragma unroll
  for (int j = 0; j < 2; j++) {
    const float4 v = x[i + j * 256], t = __ldg(table + (i + j * 256 & mask)); // cos, sin, cos, sin
    y[i + j * 256] = make_float4(v.x * t.x - v.y * t.y, v.x * t.y + v.y * t.x, v.z * t.z - v.w * t.w, v.z * t.w + v.w * t.z);
  }
}

// The mean of a number and its four neighbours; the border of 4 columns and 1 row is copied. A thread goes down 16 rows.
extern "C" __global__ void __launch_bounds__(256)
    healthy_stencil(const float *__restrict__ x, float *__restrict__ y, int rows, int columns) {
  const int c = (blockIdx.x * 256 + threadIdx.x) * 4, first = blockIdx.y * 16;
  const auto at = [&](int r) { return *(const float4 *)(x + (size_t)r * columns + c); };
  const bool edge = c == 0 || c == columns - 4;
  float4 above = first > 0 ? at(first - 1) : make_float4(0, 0, 0, 0), here = at(first);
#pragma unroll 4
  for (int r = first; r < first + 16; r++) {
    const float4 below = r + 1 < rows ? at(r + 1) : here;
    float4 mean = here;
    if (!edge && r > 0 && r + 1 < rows) {
      const float left = x[(size_t)r * columns + c - 1], right = x[(size_t)r * columns + c + 4];
      mean.x = 0.2f * (here.x + above.x + below.x + (left + here.y));
      mean.y = 0.2f * (here.y + above.y + below.y + (here.x + here.z));
      mean.z = 0.2f * (here.z + above.z + below.z + (here.y + here.w));
      mean.w = 0.2f * (here.w + above.w + below.w + (here.z + right));
    }
    *(float4 *)(y + (size_t)r * columns + c) = mean;
    above = here, here = below;
  }
}

// The weights of 1024 points around 8 numbers of every thread, many small blocks.
extern "C" __global__ void __launch_bounds__(128)
    healthy_density(const float *__restrict__ x, const float2 *__restrict__ points, float *__restrict__ y) {
  __shared__ float2 tile[1024];
  for (int k = threadIdx.x; k < 1024; k += 128) tile[k] = points[k];
  __syncthreads();
  const size_t first = (size_t)blockIdx.x * 1024 + threadIdx.x;
  float own[8], sum[8] = {};
#pragma unroll
  for (int j = 0; j < 8; j++) own[j] = x[first + j * 128];
#pragma unroll 4
  for (int k = 0; k < 1024; k++) {
    const float2 p = tile[k];
#pragma unroll
    for (int j = 0; j < 8; j++) {
      const float d = own[j] * p.x + p.y;
      sum[j] += d * d;
    }
  }
#pragma unroll
  for (int j = 0; j < 8; j++) y[first + j * 128] = sum[j];
}
