// Second faces of the causes: what is slow about instructions.
#include "plant.cuh"

__device__ inline float settle(float v, int steps) {
  float a = v, b = v;
#pragma unroll 1
  for (int k = 0; k < steps; k++) {
    a = (a * 0.5f + v) * 0.75f;
    b = b * v + a;
  }
  return a + b;
}

// leader_lane (divergence): the first lane of a warp settles the numbers of all 32, while 31 wait.
// Fixed: each lane settles its own.
extern "C" __global__ void __launch_bounds__(256) leader_lane(const float *__restrict__ x, float *__restrict__ y, int steps) {
  __shared__ float numbers[256];
  const size_t i = blockIdx.x * 256 + threadIdx.x;
  const int first = threadIdx.x / 32 * 32;
  numbers[threadIdx.x] = x[i];
  __syncwarp();
  if (threadIdx.x == first) {
#pragma unroll 1
    for (int j = 0; j < 32; j++) numbers[first + j] = settle(numbers[first + j], steps);
  }
  __syncwarp();
  y[i] = numbers[threadIdx.x];
}

extern "C" __global__ void __launch_bounds__(256) leader_lane_fixed(const float *__restrict__ x, float *__restrict__ y, int steps) {
  const size_t i = blockIdx.x * 256 + threadIdx.x;
  y[i] = settle(x[i], steps);
}

// sparse_points (divergence): one number in eight has work, and every warp has four of those.
// Fixed: the first warp of a block takes those of all.
extern "C" __global__ void __launch_bounds__(256) sparse_points(const float *__restrict__ x, float *__restrict__ y, int steps) {
  const size_t i = blockIdx.x * 256 + threadIdx.x;
  float v = x[i];
  if (i % 8 == 0) v = settle(v, steps);
  y[i] = v;
}

extern "C" __global__ void __launch_bounds__(256) sparse_points_fixed(const float *__restrict__ x, float *__restrict__ y, int steps) {
  const int rest = threadIdx.x - 32;
  const size_t i = (size_t)blockIdx.x * 256 + (rest < 0 ? threadIdx.x * 8 : rest / 7 * 8 + rest % 7 + 1);
  float v = x[i];
  if (rest < 0) v = settle(v, steps);
  y[i] = v;
}

// column_totals (atomics-contention): a warp adds 8 rows of 32 columns, and then to the totals, which lie in one line.
// Fixed: a block adds its 256 rows first.
__device__ inline float sum_of_8(const float *x, size_t row) {
  float sum = 0;
#pragma unroll
  for (int r = 0; r < 8; r++) sum += x[(row + r) * 32 + threadIdx.x % 32];
  return sum;
}

extern "C" __global__ void __launch_bounds__(256) column_totals(const float *__restrict__ x, float *__restrict__ totals) {
  const size_t row = (size_t)blockIdx.x * 256 + threadIdx.x / 32 * 32;
#pragma unroll 1
  for (int k = 0; k < 4; k++) atomicAdd(&totals[threadIdx.x % 32], sum_of_8(x, row + k * 8));
}

extern "C" __global__ void __launch_bounds__(256) column_totals_fixed(const float *__restrict__ x, float *__restrict__ totals) {
  __shared__ float sums[8][32];
  const size_t row = (size_t)blockIdx.x * 256 + threadIdx.x / 32 * 32;
  float sum = 0;
#pragma unroll 1
  for (int k = 0; k < 4; k++) sum += sum_of_8(x, row + k * 8);
  sums[threadIdx.x / 32][threadIdx.x % 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    sum = 0;
#pragma unroll
    for (int w = 0; w < 8; w++) sum += sums[w][threadIdx.x];
    atomicAdd(&totals[threadIdx.x], sum);
  }
}

// norms_by_sqrt (fp64-accident): sqrt and literals without f: a square root in double for every step.
// Fixed: sqrtf, and the f.
extern "C" __global__ void __launch_bounds__(256) norms_by_sqrt(const float *__restrict__ x, float *__restrict__ y) {
  const size_t i = blockIdx.x * 256 + threadIdx.x;
  float s = x[i];
#pragma unroll 1
  for (int k = 0; k < 8; k++) s = sqrt(s * s + 1.0) * 0.7;
  y[i] = s;
}

extern "C" __global__ void __launch_bounds__(256) norms_by_sqrt_fixed(const float *__restrict__ x, float *__restrict__ y) {
  const size_t i = blockIdx.x * 256 + threadIdx.x;
  float s = x[i];
#pragma unroll 1
  for (int k = 0; k < 8; k++) s = sqrtf(s * s + 1.0f) * 0.7f;
  y[i] = s;
}

// gaussian_bumps (sfu-bound): an exponential for each of 40 bumps at equal distances.
// Fixed: neighbouring bumps differ by a factor, which itself changes by a factor: three exponentials.
extern "C" __global__ void __launch_bounds__(256) gaussian_bumps(const float *__restrict__ x, float *__restrict__ y) {
  const size_t i = blockIdx.x * 256 + threadIdx.x;
  const float v = x[i];
  float sum = 0;
#pragma unroll
  for (int k = 0; k < 40; k++) {
    const float d = v - k * 0.025f;
    sum += __expf(-8 * d * d) * (1.f / (k + 1));
  }
  y[i] = sum;
}

extern "C" __global__ void __launch_bounds__(256) gaussian_bumps_fixed(const float *__restrict__ x, float *__restrict__ y) {
  const size_t i = blockIdx.x * 256 + threadIdx.x;
  const float v = x[i];
  float bump = __expf(-8 * v * v), ratio = __expf(8 * 0.025f * (2 * v - 0.025f)), sum = 0;
  const float change = __expf(-16 * 0.025f * 0.025f);
#pragma unroll
  for (int k = 0; k < 40; k++) {
    sum += bump * (1.f / (k + 1));
    bump *= ratio;
    ratio *= change;
  }
  y[i] = sum;
}

// julia_steps (at-roof): z = z² + c for four points a thread, 4 instructions of the FMA pipe each, and 8 bytes a point.
// The twin is the same in blocks of another size.
template <int THREADS>
__device__ inline void iterate(const float4 *x, float4 *y, float cr, float ci, int steps) {
  const size_t i = (size_t)blockIdx.x * THREADS * 2 + threadIdx.x;
  const float4 u = x[i], v = x[i + THREADS];
  float r[4] = {u.x, u.z, v.x, v.z}, m[4] = {u.y, u.w, v.y, v.w};
#pragma unroll 8
  for (int k = 0; k < steps; k++) {
#pragma unroll
    for (int j = 0; j < 4; j++) {
      const float next = r[j] * r[j] - (m[j] * m[j] - cr);
      m[j] = (r[j] + r[j]) * m[j] + ci;
      r[j] = next;
    }
  }
  y[i] = make_float4(r[0], m[0], r[1], m[1]);
  y[i + THREADS] = make_float4(r[2], m[2], r[3], m[3]);
}

extern "C" __global__ void __launch_bounds__(256)
    julia_steps(const float4 *__restrict__ x, float4 *__restrict__ y, float cr, float ci, int steps) {
  iterate<256>(x, y, cr, ci, steps);
}

extern "C" __global__ void __launch_bounds__(128)
    julia_steps_fixed(const float4 *__restrict__ x, float4 *__restrict__ y, float cr, float ci, int steps) {
  iterate<128>(x, y, cr, ci, steps);
}

// scan_by_steps (barrier-bound): running sums of rows of 1024 numbers by 10 steps with two barriers each.
// Fixed: a warp takes a row, by shuffles.
extern "C" __global__ void __launch_bounds__(1024, 2)
    scan_by_steps(const float *__restrict__ x, float *__restrict__ y, int rows_per_block) {
  __shared__ float sums[1024];
  const size_t first = (size_t)blockIdx.x * rows_per_block;
  const int t = threadIdx.x;
  float next = x[first * 1024 + t];
  for (int r = 0; r < rows_per_block; r++) {
    float own = next;
    if (r + 1 < rows_per_block) next = x[(first + r + 1) * 1024 + t];
    sums[t] = own;
    __syncthreads();
#pragma unroll 1
    for (int d = 1; d < 1024; d *= 2) {
      const float before = t >= d ? sums[t - d] : 0;
      __syncthreads();
      own += before;
      sums[t] = own;
      __syncthreads();
    }
    y[(first + r) * 1024 + t] = own;
  }
}

extern "C" __global__ void __launch_bounds__(128)
    scan_by_steps_fixed(const float4 *__restrict__ x, float4 *__restrict__ y, int) {
  const size_t row = (size_t)blockIdx.x * 4 + threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  float4 v[8];
#pragma unroll
  for (int j = 0; j < 8; j++) v[j] = x[row * 256 + j * 32 + lane];
  float carry = 0;
#pragma unroll
  for (int j = 0; j < 8; j++) {
    float4 s = v[j];
    s.y += s.x, s.z += s.y, s.w += s.z;
    float through = s.w;
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
      const float before = __shfl_up_sync(0xffffffff, through, d);
      if (lane >= d) through += before;
    }
    const float before = carry + through - s.w;
    y[row * 256 + j * 32 + lane] = make_float4(s.x + before, s.y + before, s.z + before, s.w + before);
    carry += __shfl_sync(0xffffffff, through, 31);
  }
}
