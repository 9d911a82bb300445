// Held-out faces: warps that wait for each other, lanes that wait for each other, and atomic additions that queue up.
#include "plant.cuh"

// small_inverses (barrier-bound): matrices of 32 by 32 are reduced by Gauss and Jordan, one number a thread, with two barriers for
// each of 32 pivots; a row and a column are read between them.
// Fixed: a warp has a matrix, a column a lane, and shuffles.
extern "C" __global__ void __launch_bounds__(1024, 2) small_inverses(const float *__restrict__ x, float *__restrict__ y) {
  __shared__ float own_row[32], own_column[32];
  const int row = threadIdx.x / 32, column = threadIdx.x % 32;
  const size_t at = (size_t)blockIdx.x * 1024 + threadIdx.x;
  float v = x[at] + (row == column ? 64.f : 0.f);
#pragma unroll 1
  for (int k = 0; k < 32; k++) {
    if (row == k) own_row[column] = v;
    if (column == k) own_column[row] = v;
    __syncthreads();
    const float scale = __fdividef(1.f, own_row[k]);
    if (row != k && column != k) v -= own_column[row] * scale * own_row[column];
    else if (row == k && column != k) v *= scale;
    else if (row != k) v *= -scale;
    else v = scale;
    __syncthreads();
  }
  y[at] = v;
}

extern "C" __global__ void __launch_bounds__(128) small_inverses_fixed(const float *__restrict__ x, float *__restrict__ y) {
  const int lane = threadIdx.x % 32;
  const size_t first = ((size_t)blockIdx.x * 4 + threadIdx.x / 32) * 1024;
  float v[32];
#pragma unroll
  for (int r = 0; r < 32; r++) v[r] = x[first + r * 32 + lane] + (r == lane ? 64.f : 0.f);
#pragma unroll 1
  for (int k = 0; k < 32; k++) { // the pivot's row is the first one, and becomes the last one
    const float own = v[0], scale = __fdividef(1.f, __shfl_sync(0xffffffff, own, k));
#pragma unroll
    for (int r = 1; r < 32; r++) {
      const float factor = __shfl_sync(0xffffffff, v[r], k) * scale;
      v[r - 1] = lane == k ? -factor : v[r] - factor * own;
    }
    v[31] = lane == k ? scale : own * scale;
  }
#pragma unroll
  for (int r = 0; r < 32; r++) y[first + r * 32 + lane] = v[r];
}

// sensor_cells (divergence): the cells of a sensor are red, green, blue and white in turns, and each colour has its own response:
// a warp goes all four ways with 8 lanes each.
// Fixed: a warp takes cells of one colour.
__device__ inline float response(int colour, float v, int steps) {
  float r = v;
  if (colour == 0) {
    for (int k = 0; k < steps; k++) r = r * 0.75f + v * 0.125f - r * r * 0.0625f;
  } else if (colour == 1) {
    for (int k = 0; k < steps; k++) r = fmaxf(r * 0.5f, v - r * 0.25f);
  } else if (colour == 2) {
    for (int k = 0; k < steps; k++) r = fabsf(r - 0.75f) * 0.5f + v * 0.25f;
  } else {
    for (int k = 0; k < steps; k++) r = fminf(r + v * 0.125f, 1 - r * 0.5f);
  }
  return r;
}

extern "C" __global__ void __launch_bounds__(256)
    sensor_cells(const float *__restrict__ x, float *__restrict__ y, int steps) {
  const size_t i = (size_t)blockIdx.x * 256 + threadIdx.x;
  y[i] = response(threadIdx.x & 3, x[i], steps);
}

extern "C" __global__ void __launch_bounds__(256)
    sensor_cells_fixed(const float *__restrict__ x, float *__restrict__ y, int steps) {
  const int colour = threadIdx.x / 64;
  const size_t i = (size_t)blockIdx.x * 256 + threadIdx.x % 64 * 4 + colour;
  y[i] = response(colour, x[i], steps);
}

// species_energies (atomics-contention): a particle's energy is added to the total of its species, one of 8 words.
// Fixed: a thread adds in registers, then its warp, then its block, which adds 8 sums in the end.
__device__ inline int energy_of(float v) { return (int)(v * v * 16); }

extern "C" __global__ void __launch_bounds__(256)
    species_energies(const float *__restrict__ speeds, const unsigned *__restrict__ species, int *__restrict__ totals) {
#pragma unroll
  for (int j = 0; j < 4; j++) {
    const size_t i = (size_t)blockIdx.x * 1024 + j * 256 + threadIdx.x;
    atomicAdd(&totals[species[i]], energy_of(speeds[i]));
  }
}

extern "C" __global__ void __launch_bounds__(256)
    species_energies_fixed(const float *__restrict__ speeds, const unsigned *__restrict__ species, int *__restrict__ totals) {
  __shared__ int own[8][8];
  if (threadIdx.x < 64) own[threadIdx.x / 8][threadIdx.x % 8] = 0;
  __syncthreads();
  int sums[8] = {0, 0, 0, 0, 0, 0, 0, 0};
#pragma unroll
  for (int j = 0; j < 4; j++) {
    const size_t i = (size_t)blockIdx.x * 1024 + j * 256 + threadIdx.x;
    const unsigned kind = species[i];
    const int energy = energy_of(speeds[i]);
#pragma unroll
    for (int k = 0; k < 8; k++) sums[k] += kind == (unsigned)k ? energy : 0;
  }
#pragma unroll
  for (int k = 0; k < 8; k++) {
    const int sum = __reduce_add_sync(0xffffffff, sums[k]);
    if (threadIdx.x % 32 == 0) own[threadIdx.x / 32][k] = sum;
  }
  __syncthreads();
  if (threadIdx.x < 8) {
    int sum = 0;
#pragma unroll
    for (int w = 0; w < 8; w++) sum += own[w][threadIdx.x];
    atomicAdd(&totals[threadIdx.x], sum);
  }
}
