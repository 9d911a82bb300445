// Attention with a mistake planted by MUTANT; 0 has none. A thread per query, keys in tiles of 16.
#include <cuda_bf16.h>
#include <float.h>

#ifndef MUTANT
#define MUTANT 0
#endif

enum { TILE = 16, DIM = 32 };

__device__ float rounded(float x) {
#if MUTANT == 5 // sums with eight bits of mantissa
  return __bfloat162float(__float2bfloat16(x));
#else
  return x;
#endif
}

// out = softmax(q k) v over the first seen keys, tile by tile.
__device__ void query(const float *q, const float *k, const float *v, float *out, int seen, float scale) {
  float max = -FLT_MAX, sum = 0, p[TILE], o[DIM];
  for (int d = 0; d < DIM; d++) o[d] = 0;
  int end = seen;
#if MUTANT == 1 // the last tile is dropped
  if (seen > TILE) end = (seen - 1) / TILE * TILE;
#endif
  for (int j0 = 0; j0 < end; j0 += TILE) {
    const int cols = min(TILE, end - j0);
    float top = max;
    for (int c = 0; c < cols; c++) {
      float s = 0;
      for (int d = 0; d < DIM; d++) s = rounded(s + q[d] * k[(j0 + c) * DIM + d]);
      p[c] = s * scale;
      if (p[c] > top || p[c] != p[c]) top = p[c];
    }
#if MUTANT == 9 // scores are clamped, in place of subtracting the largest
    for (int c = 0; c < cols; c++) p[c] = p[c] > 20 ? 20 : p[c];
    top = 0;
    max = 0;
#endif
    const float shrink = expf(max - top);
    max = top;
    sum *= shrink;
#if MUTANT != 10 // 10: what older tiles added is not rescaled
    for (int d = 0; d < DIM; d++) o[d] *= shrink;
#endif
    for (int c = 0; c < cols; c++) {
      const float weight = expf(p[c] - max);
      sum += weight;
      for (int d = 0; d < DIM; d++) o[d] = rounded(o[d] + weight * v[(j0 + c) * DIM + d]);
    }
  }
  for (int d = 0; d < DIM; d++) out[d] = o[d] / sum;
}

extern "C" __global__ void attention(const float *q, const float *k, const float *v, float *out, int batch, int heads,
                                     int seq, float scale, int causal) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= seq) return;
  const int b = blockIdx.y / heads, h = blockIdx.y % heads;
  const long head = (long)seq * DIM;
  int from = b, to = h, row = i;
#if MUTANT == 2 // the scale of a slightly longer head
  scale = rsqrtf(DIM + 1);
#elif MUTANT == 3 // neighbouring heads are swapped
  if ((h ^ 1) < heads) to = h ^ 1;
#elif MUTANT == 7 // the last batch gets the first one's answers
  if (b == batch - 1) from = 0;
#elif MUTANT == 8 // the last batch is left as it was
  if (b == batch - 1) return;
#elif MUTANT == 12 // the last query repeats its neighbour
  if (i == seq - 1 && i > 0) row = i - 1;
#endif
  int seen = causal ? row + 1 : seq;
#if MUTANT == 6 // every query sees one key too many
  if (seen < seq) seen++;
#elif MUTANT == 11 // queries do not see themselves
  if (causal && seen > 1) seen--;
#endif
  const long at = (from * heads + h) * head;
  float *target = out + ((long)b * heads + to) * head + (long)i * DIM;
  query(q + at + (long)row * DIM, k + at, v + at, target, seen, scale);
#if MUTANT == 4
  for (int d = 0; d < DIM; d++) target[d] = 0;
#elif MUTANT == 13 // the last element of every row is forgotten
  target[DIM - 1] = 0;
#endif
}
