// Held-out faces: how work is spread over the GPU.
#include "plant.cuh"

// sample_streams (small-grid): every thread draws the points of one random stream and counts those within a circle: 2048
// streams are 16 blocks on 132 SMs, one warp a scheduler.
// Fixed: 64 blocks share a stream; counts meet by atomic addition.
__device__ inline int hits(unsigned stream, int first, int count) {
  int inside = 0;
#pragma unroll 4
  for (int k = first; k < first + count; k++) {
    unsigned v = stream * 0x9e3779b9u ^ k;
    v = (v ^ v >> 16) * 0x85ebca6bu;
    v = (v ^ v >> 13) * 0xc2b2ae35u;
    v ^= v >> 16;
    const unsigned a = v & 0x7fff, b = v >> 17;
    inside += a * a + b * b < 1u << 30;
  }
  return inside;
}

extern "C" __global__ void __launch_bounds__(128)
    sample_streams(const unsigned *__restrict__ seeds, int *__restrict__ counts, int samples) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  counts[i] += hits(seeds[i], 0, samples);
}

extern "C" __global__ void __launch_bounds__(128)
    sample_streams_fixed(const unsigned *__restrict__ seeds, int *__restrict__ counts, int samples) {
  const int i = blockIdx.x * 128 + threadIdx.x, part = samples / gridDim.y;
  atomicAdd(&counts[i], hits(seeds[i], blockIdx.y * part, part));
}

// banded_blur (small-grid): blocks of 256 threads go down bands of an image 1024 wide and weigh five rows: 16 bands.
// Fixed: 528 bands, each with 4 rows of the next one.
__device__ inline float4 weigh(float4 a, float4 b, float4 c, float4 d, float4 e) {
  const auto one = [](float a, float b, float c, float d, float e) { return (a + e + 4 * (b + d) + 6 * c) * (1 / 16.f); };
  return make_float4(one(a.x, b.x, c.x, d.x, e.x), one(a.y, b.y, c.y, d.y, e.y), one(a.z, b.z, c.z, d.z, e.z), one(a.w, b.w, c.w, d.w, e.w));
}

extern "C" __global__ void __launch_bounds__(256) banded_blur(const float4 *__restrict__ x, float4 *__restrict__ y, int rows) {
  x += (size_t)blockIdx.x * rows * 256 + threadIdx.x;
  y += (size_t)blockIdx.x * rows * 256 + threadIdx.x;
  float4 a = x[0], b = x[256], c = x[512], d = x[768];
#pragma unroll 4
  for (int r = 0; r < rows; r++) {
    const float4 e = x[(size_t)(r + 4) * 256];
    y[(size_t)r * 256] = weigh(a, b, c, d, e);
    a = b, b = c, c = d, d = e;
  }
}

// proof_of_work (tail-wave): rounds of a hash for every number. Two blocks of 1024 threads fill an SM: of 280 blocks 264 run
// at once, and 16 SMs work for half as long again. 412 blocks: four times as long as a block alone, where 3.1 would do.
// Fixed: blocks of 128 threads.
template <int THREADS>
__device__ inline void mix_rounds(const unsigned *x, unsigned *y, int rounds) {
  const size_t i = (size_t)blockIdx.x * THREADS * 2 + threadIdx.x;
  unsigned a = x[i], b = x[i + THREADS];
#pragma unroll 8
  for (int r = 0; r < rounds; r++) {
    a = (a ^ (a << 7 | a >> 25)) * 0x9e3779b1u + r;
    b = (b ^ (b << 7 | b >> 25)) * 0x9e3779b1u + r;
  }
  y[i] = a;
  y[i + THREADS] = b;
}

extern "C" __global__ void __launch_bounds__(1024, 2)
    proof_of_work(const unsigned *__restrict__ x, unsigned *__restrict__ y, int rounds) {
  mix_rounds<1024>(x, y, rounds);
}

extern "C" __global__ void __launch_bounds__(128, 16)
    proof_of_work_fixed(const unsigned *__restrict__ x, unsigned *__restrict__ y, int rounds) {
  mix_rounds<128>(x, y, rounds);
}

// fir_tiles (tail-wave): a filter of 1024 taps; a thread makes 8 neighbouring outputs, and a block of 1024 threads fills an SM:
// 140 tiles on 132 SMs take as long as 264 would, 404 as long as 528.
// Fixed: blocks of 128 threads.
template <int THREADS>
__device__ inline void filter(const float *x, const float *taps, float *y) {
  constexpr int TAPS = 1024, CHUNKS = THREADS + TAPS / 8;
  __shared__ float tile[CHUNKS * 9]; // chunks of 8 numbers, and a word left free
  __shared__ float4 weights[TAPS / 4];
  const size_t first = (size_t)blockIdx.x * THREADS * 8;
  for (int i = threadIdx.x; i < CHUNKS * 8; i += THREADS) tile[i / 8 * 9 + i % 8] = x[first + i];
  for (int i = threadIdx.x; i < TAPS / 4; i += THREADS) weights[i] = ((const float4 *)taps)[i];
  __syncthreads();
  float sum[8] = {}, near[16];
  const float *from = tile + threadIdx.x * 9;
#pragma unroll
  for (int i = 0; i < 8; i++) near[i] = from[i];
#pragma unroll 2
  for (int c = 0; c < TAPS / 8; c++) {
#pragma unroll
    for (int i = 0; i < 8; i++) near[8 + i] = from[(c + 1) * 9 + i];
    const float4 u = weights[c * 2], v = weights[c * 2 + 1];
    const float w[8] = {u.x, u.y, u.z, u.w, v.x, v.y, v.z, v.w};
#pragma unroll
    for (int i = 0; i < 8; i++) {
#pragma unroll
      for (int j = 0; j < 8; j++) sum[j] += w[i] * near[i + j];
    }
#pragma unroll
    for (int i = 0; i < 8; i++) near[i] = near[8 + i];
  }
  float4 *to = (float4 *)(y + first) + threadIdx.x * 2;
  to[0] = make_float4(sum[0], sum[1], sum[2], sum[3]);
  to[1] = make_float4(sum[4], sum[5], sum[6], sum[7]);
}

extern "C" __global__ void __launch_bounds__(1024, 1)
    fir_tiles(const float *__restrict__ x, const float *__restrict__ taps, float *__restrict__ y) {
  filter<1024>(x, taps, y);
}

extern "C" __global__ void __launch_bounds__(128, 8)
    fir_tiles_fixed(const float *__restrict__ x, const float *__restrict__ taps, float *__restrict__ y) {
  filter<128>(x, taps, y);
}

// cluster_pairs (load-imbalance): a block sums, for the points of a cluster, what all points of it weigh. One cluster in 64
// is 8 or 16 times as large as the others, with the square of that as work: 33 SMs work for a long time alone.
// Fixed: a block for every 256 points, those of large clusters first.
__device__ inline void weigh_points(const float *x, float *y, int own, int count) {
  const float at = x[own + threadIdx.x];
  const float4 *others = (const float4 *)x;
  float sum[4] = {};
#pragma unroll 4
  for (int k = 0; k < count / 4; k++) {
    const float4 v = others[k];
    sum[0] += fmaxf(1 - (v.x - at) * (v.x - at), 0);
    sum[1] += fmaxf(1 - (v.y - at) * (v.y - at), 0);
    sum[2] += fmaxf(1 - (v.z - at) * (v.z - at), 0);
    sum[3] += fmaxf(1 - (v.w - at) * (v.w - at), 0);
  }
  y[own + threadIdx.x] = sum[0] + sum[1] + (sum[2] + sum[3]);
}

// Of 64 clusters, number 32 has `giant` pieces of 256 points; the others have one.
extern "C" __global__ void __launch_bounds__(256)
    cluster_pairs(const float *__restrict__ x, float *__restrict__ y, int giant) {
  const int cluster = blockIdx.x, pieces = cluster % 64 == 32 ? giant : 1;
  const size_t first = ((size_t)cluster + (cluster + 31) / 64 * (giant - 1)) * 256;
#pragma unroll 1
  for (int p = 0; p < pieces; p++) weigh_points(x + first, y + first, p * 256, pieces * 256);
}

extern "C" __global__ void __launch_bounds__(256)
    cluster_pairs_fixed(const float *__restrict__ x, float *__restrict__ y, int giant) {
  const int pieces = gridDim.x / (63 + giant) * giant, single = (int)blockIdx.x - pieces;
  const bool large = single < 0;
  const int own = large ? blockIdx.x % giant : 0, period = large ? blockIdx.x / giant : single / 63, before = single % 63;
  const int start = period * (63 + giant) + (large ? 32 : before < 32 ? before : before + giant);
  weigh_points(x + (size_t)start * 256, y + (size_t)start * 256, own * 256, large ? giant * 256 : 256);
}
