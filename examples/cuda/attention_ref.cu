// Attention forward in f64 from f16 inputs, or bf16 ones with -DBF16; the result is f32. A warp takes ROWS query rows,
// so that a key or value that it has read serves all of them; any head up to MAX_DIM, and the smaller that is, the more
// warps have room. Slow, and simple enough to be believed: what attention.cu is checked against.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "reduce.cuh"

#ifdef BF16
typedef __nv_bfloat16 element;
#else
typedef half element;
#endif

#ifndef MAX_DIM
#define MAX_DIM 256
#endif
constexpr int ROWS = 8, PARTS = MAX_DIM / 32;

extern "C" __global__ void __launch_bounds__(32)
    attention_ref(const element *__restrict__ q, const element *__restrict__ k, const element *__restrict__ v,
                  float *__restrict__ out, int seq, int dim, float scale, int causal) {
  const int lane = threadIdx.x;
  const int blocks = (seq + ROWS - 1) / ROWS; // of query rows
  const int row0 = blockIdx.x % blocks * ROWS, rows = min(ROWS, seq - row0);
  const size_t head = (size_t)(blockIdx.x / blocks) * seq * dim;
  const int end = causal ? row0 + rows : seq; // of the keys that any of the rows sees

  __shared__ double queries[ROWS][MAX_DIM];
  for (int i = lane; i < ROWS * dim; i += 32)
    queries[i / dim][i % dim] = i / dim < rows ? (double)(float)q[head + (size_t)row0 * dim + i] : 0;
  __syncwarp();

  // Of 32 keys, lane i weighs key i; then all weights go round, and lane i adds up elements i, i + 32, … of the values.
  double max[ROWS], sum[ROWS] = {}, result[ROWS][PARTS] = {};
  for (int r = 0; r < ROWS; r++) max[r] = -1e300;
  for (int key0 = 0; key0 < end; key0 += 32) {
    double score[ROWS] = {}, weight[ROWS];
    if (key0 + lane < end) {
      const element *const key = k + head + (size_t)(key0 + lane) * dim;
      for (int d = 0; d < dim; d++) {
        const double element_d = (double)(float)key[d];
#pragma unroll
        for (int r = 0; r < ROWS; r++) score[r] += queries[r][d] * element_d;
      }
    }
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
      const bool seen = key0 + lane < (causal ? min(end, row0 + r + 1) : end);
      score[r] = seen ? score[r] * scale : -1e300;
      const double top = warp_reduce(score[r], [&](double a, double b) { return fmax(fmax(a, b), max[r]); });
      const double shrink = exp(max[r] - top);
      weight[r] = seen ? exp(score[r] - top) : 0;
      max[r] = top;
      sum[r] = sum[r] * shrink + warp_reduce(weight[r], Add());
#pragma unroll
      for (int i = 0; i < PARTS; i++) result[r][i] *= shrink;
    }
    for (int j = 0; j < min(32, end - key0); j++) {
      const element *const value = v + head + (size_t)(key0 + j) * dim;
      double part[PARTS];
#pragma unroll
      for (int i = 0; i < PARTS; i++) part[i] = i * 32 + lane < dim ? (double)(float)value[i * 32 + lane] : 0;
#pragma unroll
      for (int r = 0; r < ROWS; r++) {
        const double w = __shfl_sync(0xffffffffu, weight[r], j);
#pragma unroll
        for (int i = 0; i < PARTS; i++) {
          if (i * 32 < dim) result[r][i] += w * part[i];
        }
      }
    }
  }
#pragma unroll
  for (int r = 0; r < ROWS; r++) {
#pragma unroll
    for (int i = 0; i < PARTS; i++) {
      if (r < rows && i * 32 + lane < dim) out[head + (size_t)(row0 + r) * dim + i * 32 + lane] = result[r][i] / sum[r];
    }
  }
}
