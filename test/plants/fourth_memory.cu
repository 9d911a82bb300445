// Held-out faces: bytes that go through DRAM and L2, and warps that wait for them.
#include "plant.cuh"

// clip_in_place (dram-bound): numbers are limited and written back, though hardly any of them is too large: half of the bytes.
// Fixed: only what changes is written.
template <bool ALWAYS>
__device__ inline void clip(float4 *x, float limit) {
  x += (size_t)blockIdx.x * 1024 + threadIdx.x;
  float4 v[4];
#pragma unroll
  for (int j = 0; j < 4; j++) v[j] = x[j * 256];
#pragma unroll
  for (int j = 0; j < 4; j++) {
    const float most = fmaxf(fmaxf(v[j].x, v[j].y), fmaxf(v[j].z, v[j].w));
    if (ALWAYS || most > limit) {
      x[j * 256] = make_float4(fminf(v[j].x, limit), fminf(v[j].y, limit), fminf(v[j].z, limit), fminf(v[j].w, limit));
    }
  }
}

extern "C" __global__ void __launch_bounds__(256) clip_in_place(float4 *__restrict__ x, float limit) {
  clip<true>(x, limit);
}

extern "C" __global__ void __launch_bounds__(256) clip_in_place_fixed(float4 *__restrict__ x, float limit) {
  clip<false>(x, limit);
}

// phoneme_scores (l2-bound): a block finds the best of 2048 models for a frame of speech, 64 numbers: 512 KB, of which every word
// is read again for every frame, past the L1.
// Fixed: a block scores 8 frames with every word that it reads.
template <int FRAMES>
__device__ inline void score_frames(const float4 *models, const float *frames, float *y) {
  __shared__ float own[64][FRAMES], most[FRAMES][8];
  const int t = threadIdx.x;
  frames += (size_t)blockIdx.x * FRAMES * 64;
  for (int i = t; i < FRAMES * 64; i += 256) own[i % 64][i / 64] = frames[i];
  __syncthreads();
  float best[FRAMES];
#pragma unroll
  for (int f = 0; f < FRAMES; f++) best[f] = -1e30f;
#pragma unroll 1
  for (int part = 0; part < 2; part++) {
    float4 sum[FRAMES];
#pragma unroll
    for (int f = 0; f < FRAMES; f++) sum[f] = make_float4(0, 0, 0, 0);
#pragma unroll 8
    for (int d = 0; d < 64; d++) {
      const float4 w = __ldcg(models + d * 512 + part * 256 + t);
#pragma unroll
      for (int f = 0; f < FRAMES; f++) {
        const float v = own[d][f];
        sum[f].x += v * w.x, sum[f].y += v * w.y, sum[f].z += v * w.z, sum[f].w += v * w.w;
      }
    }
#pragma unroll
    for (int f = 0; f < FRAMES; f++) best[f] = fmaxf(best[f], fmaxf(fmaxf(sum[f].x, sum[f].y), fmaxf(sum[f].z, sum[f].w)));
  }
#pragma unroll
  for (int f = 0; f < FRAMES; f++) {
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) best[f] = fmaxf(best[f], __shfl_xor_sync(0xffffffff, best[f], offset));
    if (t % 32 == 0) most[f][t / 32] = best[f];
  }
  __syncthreads();
  if (t < FRAMES) {
    float v = most[t][0];
#pragma unroll
    for (int w = 1; w < 8; w++) v = fmaxf(v, most[t][w]);
    y[(size_t)blockIdx.x * FRAMES + t] = v;
  }
}

extern "C" __global__ void __launch_bounds__(256)
    phoneme_scores(const float4 *__restrict__ models, const float *__restrict__ frames, float *__restrict__ y) {
  score_frames<1>(models, frames, y);
}

extern "C" __global__ void __launch_bounds__(256)
    phoneme_scores_fixed(const float4 *__restrict__ models, const float *__restrict__ frames, float *__restrict__ y) {
  score_frames<8>(models, frames, y);
}

// echoes (redundant-dram): a sound gets two echoes, 16 Mi samples apart: when a sample is read for the second and the third time,
// 64 and 128 MiB have passed through the L2.
// Fixed: a thread goes from echo to echo and keeps what it has read.
extern "C" __global__ void __launch_bounds__(256) echoes(const float4 *__restrict__ x, float4 *__restrict__ y, int apart, int) {
  const size_t i = ((size_t)blockIdx.y + 2) * apart + blockIdx.x * 256 + threadIdx.x; // two quiet parts come first
  const float4 a = x[i], b = x[i - apart], c = x[i - 2 * (size_t)apart];
  y[i - 2 * (size_t)apart] = make_float4(a.x + 0.5f * b.x + 0.25f * c.x, a.y + 0.5f * b.y + 0.25f * c.y,
                                         a.z + 0.5f * b.z + 0.25f * c.z, a.w + 0.5f * b.w + 0.25f * c.w);
}

extern "C" __global__ void __launch_bounds__(256) echoes_fixed(const float4 *__restrict__ x, float4 *__restrict__ y, int apart, int parts) {
  const size_t at = blockIdx.x * 256 + threadIdx.x;
  float4 c = x[at], b = x[at + apart];
#pragma unroll 4
  for (int p = 0; p < parts; p++) {
    const float4 a = x[at + (p + 2) * (size_t)apart];
    y[at + p * (size_t)apart] = make_float4(a.x + 0.5f * b.x + 0.25f * c.x, a.y + 0.5f * b.y + 0.25f * c.y,
                                            a.z + 0.5f * b.z + 0.25f * c.z, a.w + 0.5f * b.w + 0.25f * c.w);
    c = b;
    b = a;
  }
}

// moving_averages (latency-bound): a thread follows a share's prices day by day, and every day's price is loaded when the day
// before is done: 128 bytes a warp under way.
// Fixed: 16 days are loaded before their first use.
template <int AHEAD>
__device__ inline void follow(const float *prices, float *y, int n, int days) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  float fast = 0, slow = 0, most = 0;
#pragma unroll 1
  for (int d = 0; d < days; d += AHEAD) {
    float p[AHEAD];
#pragma unroll
    for (int j = 0; j < AHEAD; j++) p[j] = prices[(size_t)(d + j) * n + i];
#pragma unroll
    for (int j = 0; j < AHEAD; j++) {
      fast += 0.25f * (p[j] - fast);
      slow += 0.03125f * (p[j] - slow);
      most = fmaxf(most, fast - slow);
    }
  }
  y[i] = most;
}

extern "C" __global__ void __launch_bounds__(256)
    moving_averages(const float *__restrict__ prices, float *__restrict__ y, int n, int days) {
  follow<1>(prices, y, n, days);
}

extern "C" __global__ void __launch_bounds__(256)
    moving_averages_fixed(const float *__restrict__ prices, float *__restrict__ y, int n, int days) {
  follow<16>(prices, y, n, days);
}
