// Attention forward in f64 from f16 inputs, or bf16 ones with -DBF16; the result is f32. One warp per query row, any
// head up to MAX_DIM. Slow, and simple enough to be believed: what attention.cu is checked against.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "reduce.cuh"

#ifdef BF16
typedef __nv_bfloat16 element;
#else
typedef half element;
#endif

constexpr int MAX_DIM = 256;

extern "C" __global__ void __launch_bounds__(32)
    attention_ref(const element *__restrict__ q, const element *__restrict__ k, const element *__restrict__ v,
                  float *__restrict__ out, int seq, int dim, float scale, int causal) {
  const int lane = threadIdx.x;
  const int row = blockIdx.x % seq;
  const size_t head = (size_t)(blockIdx.x / seq) * seq * dim;
  const int end = causal ? row + 1 : seq;
  q += head + (size_t)row * dim;

  // Of 32 keys, lane i weighs key i; then all weights go round, and lane i adds up elements i, i + 32, … of the values.
  double max = -1e300, sum = 0, result[MAX_DIM / 32] = {};
  for (int key0 = 0; key0 < end; key0 += 32) {
    double score = -1e300;
    if (key0 + lane < end) {
      const element *const key = k + head + (size_t)(key0 + lane) * dim;
      score = 0;
      for (int d = 0; d < dim; d++) score += (double)(float)q[d] * (double)(float)key[d];
      score *= scale;
    }
    const double top = warp_reduce(score, [&](double a, double b) { return fmax(fmax(a, b), max); });
    const double shrink = exp(max - top);
    const double weight = key0 + lane < end ? exp(score - top) : 0;
    max = top;
    sum = sum * shrink + warp_reduce(weight, Add());
#pragma unroll
    for (int i = 0; i < MAX_DIM / 32; i++) result[i] *= shrink;
    for (int j = 0; j < min(32, end - key0); j++) {
      const double w = __shfl_sync(0xffffffffu, weight, j);
      const element *const value = v + head + (size_t)(key0 + j) * dim;
#pragma unroll
      for (int i = 0; i < MAX_DIM / 32; i++) {
        if (i * 32 + lane < dim) result[i] += w * (double)(float)value[i * 32 + lane];
      }
    }
  }
#pragma unroll
  for (int i = 0; i < MAX_DIM / 32; i++) {
    if (i * 32 + lane < dim) out[head + (size_t)row * dim + i * 32 + lane] = result[i] / sum;
  }
}
