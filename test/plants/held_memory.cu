// Held-out faces: traffic of DRAM and L2, and loads under way.
#include <cuda_fp16.h>

#include "plant.cuh"

// identity_gather (dram-bound): rows are picked by an index that is 0, 1, 2, …: 12 bytes a number. 69 Mi of them are 830 MB,
// 200 µs.
// Fixed: the twin knows, and reads no index: 8 bytes.
template <bool KNOWN>
__device__ inline void gather(const float *x, const int *index, float *y, float a) {
  const int first = blockIdx.x * 2048 + threadIdx.x;
  int from[8];
#pragma unroll
  for (int j = 0; j < 8; j++) from[j] = KNOWN ? first + j * 256 : index[first + j * 256];
  float v[8];
#pragma unroll
  for (int j = 0; j < 8; j++) v[j] = x[from[j]];
#pragma unroll
  for (int j = 0; j < 8; j++) y[first + j * 256] = v[j] * a;
}

extern "C" __global__ void __launch_bounds__(256)
    identity_gather(const float *__restrict__ x, const int *__restrict__ index, float *__restrict__ y, float a) {
  gather<false>(x, index, y, a);
}

extern "C" __global__ void __launch_bounds__(256)
    identity_gather_fixed(const float *__restrict__ x, const int *__restrict__ index, float *__restrict__ y, float a) {
  gather<true>(x, index, y, a);
}

// opaque_layer (dram-bound): a layer of halves is laid over a picture, and its opacity is one everywhere: 8 bytes a number.
// Fixed: the twin knows, and copies the layer: 4 bytes.
__device__ inline unsigned blend(unsigned layer, unsigned below, unsigned opacity) {
  const float2 u = __half22float2(*(const half2 *)&layer), v = __half22float2(*(const half2 *)&below), a = __half22float2(*(const half2 *)&opacity);
  const half2 h = __floats2half2_rn(v.x + a.x * (u.x - v.x), v.y + a.y * (u.y - v.y));
  return *(const unsigned *)&h;
}

extern "C" __global__ void __launch_bounds__(256)
    opaque_layer(const uint4 *__restrict__ layer, const uint4 *__restrict__ below, const uint4 *__restrict__ opacity, uint4 *__restrict__ y) {
  const size_t i = (size_t)blockIdx.x * 256 + threadIdx.x;
  const uint4 u = layer[i], v = below[i], a = opacity[i];
  y[i] = make_uint4(blend(u.x, v.x, a.x), blend(u.y, v.y, a.y), blend(u.z, v.z, a.z), blend(u.w, v.w, a.w));
}

extern "C" __global__ void __launch_bounds__(256)
    opaque_layer_fixed(const uint4 *__restrict__ layer, const uint4 *__restrict__ below, const uint4 *__restrict__ opacity,
                       uint4 *__restrict__ y) {
  const size_t i = (size_t)blockIdx.x * 256 + threadIdx.x;
  y[i] = layer[i];
}

// gather_per_head (l2-bound): for each of 8 heads a warp gathers the same 16 rows of 512 bytes from a table of 16 MiB, 8 of
// them under way: 34 Ki queries are 2.2 GB through the L2, 400 µs, for 4 FMAs a load of 16 bytes; DRAM moves 155 MB.
// Fixed: a row is gathered once and weighed for all heads.
__device__ inline void add(float4 &sum, float4 v, float w) {
  sum.x += v.x * w, sum.y += v.y * w, sum.z += v.z * w, sum.w += v.w * w;
}

template <int HEADS>
__device__ inline void gather_rows(const float4 *table, const unsigned *rows, const float4 *weights, float4 *y, unsigned mask, int queries) {
  const int query = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32, first = blockIdx.y * HEADS;
  const unsigned own = rows[query * 16 + lane % 16] & mask;
  float4 sum[HEADS];
#pragma unroll
  for (int h = 0; h < HEADS; h++) sum[h] = make_float4(0, 0, 0, 0);
#pragma unroll
  for (int k = 0; k < 16; k += 8) {
    float4 v[8];
#pragma unroll
    for (int j = 0; j < 8; j++) v[j] = table[(size_t)__shfl_sync(0xffffffff, own, k + j) * 32 + lane];
#pragma unroll
    for (int j = 0; j < 8; j += 4) {
#pragma unroll
      for (int h = 0; h < HEADS; h++) {
        const float4 w = weights[(first + h) * 4 + (k + j) / 4];
        add(sum[h], v[j], w.x), add(sum[h], v[j + 1], w.y), add(sum[h], v[j + 2], w.z), add(sum[h], v[j + 3], w.w);
      }
    }
  }
#pragma unroll
  for (int h = 0; h < HEADS; h++) y[((size_t)(first + h) * queries + query) * 32 + lane] = sum[h];
}

extern "C" __global__ void __launch_bounds__(256)
    gather_per_head(const float4 *__restrict__ table, const unsigned *__restrict__ rows, const float4 *__restrict__ weights,
                    float4 *__restrict__ y, unsigned mask, int queries) {
  gather_rows<1>(table, rows, weights, y, mask, queries);
}

extern "C" __global__ void __launch_bounds__(256)
    gather_per_head_fixed(const float4 *__restrict__ table, const unsigned *__restrict__ rows, const float4 *__restrict__ weights,
                          float4 *__restrict__ y, unsigned mask, int queries) {
  gather_rows<8>(table, rows, weights, y, mask, queries);
}

// vertical_diffusion (redundant-dram): every point reads itself and the points above and below it, in planes of 64 MiB, which
// leave the L2 before the next plane needs them: 16 bytes a point where 8 would do.
// Fixed: a thread goes through all planes and keeps three points.
__device__ inline float4 diffuse(float4 below, float4 own, float4 above) {
  const auto one = [](float below, float own, float above) { return own + 0.125f * (below + above - 2 * own); };
  return make_float4(one(below.x, own.x, above.x), one(below.y, own.y, above.y), one(below.z, own.z, above.z), one(below.w, own.w, above.w));
}

extern "C" __global__ void __launch_bounds__(256)
    vertical_diffusion(const float4 *__restrict__ x, float4 *__restrict__ y, int plane, int planes) {
  const size_t i = (size_t)blockIdx.x * 256 + threadIdx.x;
  const int z = blockIdx.y;
  y[(size_t)z * plane + i] = diffuse(x[(size_t)max(z - 1, 0) * plane + i], x[(size_t)z * plane + i], x[(size_t)min(z + 1, planes - 1) * plane + i]);
}

extern "C" __global__ void __launch_bounds__(256)
    vertical_diffusion_fixed(const float4 *__restrict__ x, float4 *__restrict__ y, int plane, int planes) {
  const size_t i = (size_t)blockIdx.x * 256 + threadIdx.x;
  float4 own = x[i], below = own;
#pragma unroll 4
  for (int z = 0; z < planes; z++) {
    const float4 above = x[(size_t)min(z + 1, planes - 1) * plane + i];
    y[(size_t)z * plane + i] = diffuse(below, own, above);
    below = own, own = above;
  }
}

// adam_by_sweeps (redundant-dram): a step of an optimizer in three sweeps over a block's share of four arrays of 277 MB: 10
// reads and writes where 7 would do; what all blocks have under way does not fit into the L2.
// Fixed: one sweep.
__device__ inline float4 blend_in(float4 old, float4 v, float keep) {
  return make_float4(old.x * keep + v.x * (1 - keep), old.y * keep + v.y * (1 - keep), old.z * keep + v.z * (1 - keep), old.w * keep + v.w * (1 - keep));
}

__device__ inline float4 squared(float4 v) { return make_float4(v.x * v.x, v.y * v.y, v.z * v.z, v.w * v.w); }

__device__ inline float4 move(float4 p, float4 m, float4 v) {
  const auto one = [](float p, float m, float v) { return p - 0.01f * m * rsqrtf(v + 1e-6f); };
  return make_float4(one(p.x, m.x, v.x), one(p.y, m.y, v.y), one(p.z, m.z, v.z), one(p.w, m.w, v.w));
}

extern "C" __global__ void __launch_bounds__(1024, 2)
    adam_by_sweeps(const float4 *__restrict__ gradient, float4 *__restrict__ m, float4 *__restrict__ v, float4 *__restrict__ p, int share) {
  const size_t first = (size_t)blockIdx.x * share;
#pragma unroll 2
  for (int i = threadIdx.x; i < share; i += 1024) m[first + i] = blend_in(m[first + i], gradient[first + i], 0.9f);
  __syncthreads();
#pragma unroll 2
  for (int i = threadIdx.x; i < share; i += 1024) v[first + i] = blend_in(v[first + i], squared(gradient[first + i]), 0.99f);
  __syncthreads();
#pragma unroll 2
  for (int i = threadIdx.x; i < share; i += 1024) p[first + i] = move(p[first + i], m[first + i], v[first + i]);
}

extern "C" __global__ void __launch_bounds__(1024, 2)
    adam_by_sweeps_fixed(const float4 *__restrict__ gradient, float4 *__restrict__ m, float4 *__restrict__ v, float4 *__restrict__ p, int share) {
  const size_t first = (size_t)blockIdx.x * share;
#pragma unroll 1
  for (int i = threadIdx.x; i < share; i += 1024) {
    const float4 g = gradient[first + i];
    const float4 a = blend_in(m[first + i], g, 0.9f), b = blend_in(v[first + i], squared(g), 0.99f);
    m[first + i] = a;
    v[first + i] = b;
    p[first + i] = move(p[first + i], a, b);
  }
}

// tree_lookup (latency-bound): a warp takes its four queries one after the other down a tree of 134 MB, whose nodes are the
// numbers of 32 other nodes, one line each: six loads that wait for each other, two of them for DRAM, one line a warp under
// way, and five instructions between one load and the next.
// Fixed: the four queries go down together.
template <int TOGETHER>
__device__ inline void descend(const unsigned *nodes, const unsigned *queries, unsigned *leaves) {
  const int lane = threadIdx.x % 32, first = (blockIdx.x * 8 + threadIdx.x / 32) * 4;
#pragma unroll 1
  for (int c = 0; c < 4; c += TOGETHER) {
    unsigned node[TOGETHER], query[TOGETHER];
#pragma unroll
    for (int j = 0; j < TOGETHER; j++) node[j] = 0, query[j] = queries[first + c + j];
#pragma unroll
    for (int level = 0; level < 6; level++) {
      unsigned below[TOGETHER];
#pragma unroll
      for (int j = 0; j < TOGETHER; j++) below[j] = nodes[node[j] * 32 + lane];
#pragma unroll
      for (int j = 0; j < TOGETHER; j++) node[j] = __shfl_sync(0xffffffff, below[j], query[j] >> level * 5) & 0xfffff;
    }
#pragma unroll
    for (int j = 0; j < TOGETHER; j++) {
      if (lane == 0) leaves[first + c + j] = node[j];
    }
  }
}

extern "C" __global__ void __launch_bounds__(256)
    tree_lookup(const unsigned *__restrict__ nodes, const unsigned *__restrict__ queries, unsigned *__restrict__ leaves) {
  descend<1>(nodes, queries, leaves);
}

extern "C" __global__ void __launch_bounds__(256)
    tree_lookup_fixed(const unsigned *__restrict__ nodes, const unsigned *__restrict__ queries, unsigned *__restrict__ leaves) {
  descend<4>(nodes, queries, leaves);
}

// half_gemv (latency-bound): a warp multiplies a row of halves by a vector, one half a lane and step: 64 bytes a warp under
// way, 4 KB an SM: 0.8 TB/s.
// Fixed: four loads of 16 bytes under way.
extern "C" __global__ void __launch_bounds__(256)
    half_gemv(const half *__restrict__ a, const half *__restrict__ x, float *__restrict__ y, int columns) {
  const int row = blockIdx.x * 8 + threadIdx.x / 32;
  const half *from = a + (size_t)row * columns;
  float sum = 0;
#pragma unroll 1
  for (int c = threadIdx.x % 32; c < columns; c += 32) sum += __half2float(from[c]) * __half2float(x[c]);
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) y[row] = sum;
}

__device__ inline float dot_of_pair(unsigned a, unsigned b) {
  const float2 u = __half22float2(*(const half2 *)&a), v = __half22float2(*(const half2 *)&b);
  return u.x * v.x + u.y * v.y;
}

extern "C" __global__ void __launch_bounds__(256)
    half_gemv_fixed(const uint4 *__restrict__ a, const uint4 *__restrict__ x, float *__restrict__ y, int columns) {
  const int row = blockIdx.x * 8 + threadIdx.x / 32;
  const uint4 *from = a + (size_t)row * (columns / 8);
  float sum = 0;
#pragma unroll 1
  for (int c = threadIdx.x % 32; c < columns / 8; c += 128) {
    uint4 u[4];
#pragma unroll
    for (int j = 0; j < 4; j++) u[j] = from[c + j * 32];
#pragma unroll
    for (int j = 0; j < 4; j++) {
      const uint4 v = x[c + j * 32];
      sum += dot_of_pair(u[j].x, v.x) + dot_of_pair(u[j].y, v.y) + (dot_of_pair(u[j].z, v.z) + dot_of_pair(u[j].w, v.w));
    }
  }
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) y[row] = sum;
}
