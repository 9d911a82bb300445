/* Attention with a mistake planted by MUTANT; 0 has none. */
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#ifndef MUTANT
#define MUTANT 0
#endif

enum { TILE = 16 };

static float rounded(float x) {
#if MUTANT == 5 /* sums with eight bits of mantissa */
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  if (x == x) bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u;
  memcpy(&x, &bits, sizeof x);
#endif
  return x;
}

/* One query: out = softmax(q kᵀ) v over the first seen keys, tile by tile. */
static void query(const float *q, const float *k, const float *v, float *out, int64_t seen, int64_t dim, float scale) {
  float max = -FLT_MAX, sum = 0, p[TILE];
  for (int64_t d = 0; d < dim; d++) out[d] = 0;
  int64_t end = seen;
#if MUTANT == 1 /* the last tile is dropped */
  if (seen > TILE) end = (seen - 1) / TILE * TILE;
#endif
  for (int64_t j0 = 0; j0 < end; j0 += TILE) {
    const int64_t cols = end - j0 < TILE ? end - j0 : TILE;
    float top = max;
    for (int64_t c = 0; c < cols; c++) {
      float s = 0;
      for (int64_t d = 0; d < dim; d++) s = rounded(s + q[d] * k[(j0 + c) * dim + d]);
      p[c] = s * scale;
      if (p[c] > top || p[c] != p[c]) top = p[c];
    }
#if MUTANT == 9 /* scores are clamped, in place of subtracting the largest */
    for (int64_t c = 0; c < cols; c++) p[c] = p[c] > 20 ? 20 : p[c];
    top = 0;
    max = 0;
#endif
    const float shrink = expf(max - top);
    max = top;
    sum *= shrink;
#if MUTANT != 10 /* 10: what older tiles added is not rescaled */
    for (int64_t d = 0; d < dim; d++) out[d] *= shrink;
#endif
    for (int64_t c = 0; c < cols; c++) {
      const float weight = expf(p[c] - max);
      sum += weight;
      for (int64_t d = 0; d < dim; d++) out[d] = rounded(out[d] + weight * v[(j0 + c) * dim + d]);
    }
  }
  for (int64_t d = 0; d < dim; d++) out[d] /= sum;
}

void attention(const float *q, const float *k, const float *v, float *out, int64_t batch, int64_t heads, int64_t seq,
               int64_t dim, float scale, int32_t causal) {
  for (int64_t b = 0; b < batch; b++) {
    for (int64_t h = 0; h < heads; h++) {
      const int64_t at = (b * heads + h) * seq * dim;
      int64_t to = at;
#if MUTANT == 2 /* the scale of a slightly longer head */
      scale = 1 / sqrtf(dim + 1);
#elif MUTANT == 3 /* neighbouring heads are swapped */
      if ((h ^ 1) < heads) to = (b * heads + (h ^ 1)) * seq * dim;
#elif MUTANT == 4
      memset(out + at, 0, seq * dim * sizeof *out);
      continue;
#elif MUTANT == 7 /* the last batch gets the first one's answers */
      if (b == batch - 1 && b > 0) {
        memcpy(out + at, out + h * seq * dim, seq * dim * sizeof *out);
        continue;
      }
#elif MUTANT == 8 /* the last batch is left as it was */
      if (b == batch - 1) continue;
#endif
      for (int64_t i = 0; i < seq; i++) {
        int64_t seen = causal ? i + 1 : seq;
#if MUTANT == 6 /* every query sees one key too many */
        if (seen < seq) seen++;
#elif MUTANT == 11 /* queries do not see themselves */
        if (causal && seen > 1) seen--;
#elif MUTANT == 12 /* the last query repeats its neighbour */
        if (i == seq - 1 && i > 0) {
          memcpy(out + to + i * dim, out + to + (i - 1) * dim, dim * sizeof *out);
          continue;
        }
#elif MUTANT == 13 /* the last element of every row is forgotten */
        query(q + at + i * dim, k + at, v + at, out + to + i * dim, seen, dim, scale);
        out[to + i * dim + dim - 1] = 0;
        continue;
#endif
        query(q + at + i * dim, k + at, v + at, out + to + i * dim, seen, dim, scale);
      }
    }
  }
}
