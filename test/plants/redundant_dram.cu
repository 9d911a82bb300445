// redundant-dram: more bytes come from DRAM than the problem has.
#include "plant.cuh"

// two_pass_variance: the mean first, then the squares around it. All rows of 1 MiB are under way at once, 264 MiB, so the
// second pass finds nothing in the L2: twice the bytes.
// Fixed: one pass over the numbers less the row's first one.
extern "C" __global__ void __launch_bounds__(1024, 2)
    two_pass_variance(const float4 *__restrict__ x, float *__restrict__ y, int columns) {
  __shared__ float mean;
  const float4 *row = x + (size_t)blockIdx.x * (columns / 4);
  float sum = 0;
#pragma unroll 4
  for (int c = threadIdx.x; c < columns / 4; c += 1024) {
    const float4 v = row[c];
    sum += v.x + v.y + (v.z + v.w);
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) mean = sum / columns;
  __syncthreads();
  const float m = mean;
  sum = 0;
#pragma unroll 4
  for (int c = threadIdx.x; c < columns / 4; c += 1024) {
    const float4 v = row[c];
    sum += (v.x - m) * (v.x - m) + (v.y - m) * (v.y - m) + ((v.z - m) * (v.z - m) + (v.w - m) * (v.w - m));
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) y[blockIdx.x] = sum / columns;
}

extern "C" __global__ void __launch_bounds__(1024, 2)
    two_pass_variance_fixed(const float4 *__restrict__ x, float *__restrict__ y, int columns) {
  const float4 *row = x + (size_t)blockIdx.x * (columns / 4);
  const float near = row[0].x;
  float sum = 0, squares = 0;
#pragma unroll 4
  for (int c = threadIdx.x; c < columns / 4; c += 1024) {
    const float4 v = row[c];
    const float a = v.x - near, b = v.y - near, d = v.z - near, e = v.w - near;
    sum += a + b + (d + e);
    squares += a * a + b * b + (d * d + e * e);
  }
  sum = block_sum(sum);
  __syncthreads();
  squares = block_sum(squares);
  if (threadIdx.x == 0) y[blockIdx.x] = (squares - sum * sum / columns) / columns;
}

// matrix_per_vector: four vectors, one after the other, are multiplied by the same matrix of 330 MiB: it comes from DRAM
// four times.
// Fixed: all four vectors are multiplied while a row is there.
template <int VECTORS>
__device__ inline void multiply(const float4 *a, const float4 *x, float *y, int rows, int columns) {
  const int row = blockIdx.x * 8 + threadIdx.x / 32, first = blockIdx.y * VECTORS;
  float sum[VECTORS] = {};
#pragma unroll 4
  for (int c = threadIdx.x % 32; c < columns / 4; c += 32) {
    const float4 m = a[(size_t)row * (columns / 4) + c];
#pragma unroll
    for (int j = 0; j < VECTORS; j++) {
      const float4 v = x[(first + j) * (columns / 4) + c];
      sum[j] += m.x * v.x + m.y * v.y + (m.z * v.z + m.w * v.w);
    }
  }
#pragma unroll
  for (int j = 0; j < VECTORS; j++) {
    const float s = warp_sum(sum[j]);
    if (threadIdx.x % 32 == 0) y[(first + j) * rows + row] = s;
  }
}

extern "C" __global__ void __launch_bounds__(256)
    matrix_per_vector(const float4 *__restrict__ a, const float4 *__restrict__ x, float *__restrict__ y, int rows, int columns) {
  multiply<1>(a, x, y, rows, columns);
}

extern "C" __global__ void __launch_bounds__(256)
    matrix_per_vector_fixed(const float4 *__restrict__ a, const float4 *__restrict__ x, float *__restrict__ y, int rows,
                            int columns) {
  multiply<4>(a, x, y, rows, columns);
}
