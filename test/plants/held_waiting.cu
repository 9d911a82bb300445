// Held-out faces: warps that wait for each other, lanes that wait for each other, and atomic additions that queue up.
#include "plant.cuh"

// heat_rods (barrier-bound): heat spreads in a rod of 1024 cells, one a thread, with two barriers a step for three accesses of
// shared memory and three instructions of arithmetic.
// Fixed: a warp takes a rod, 32 neighbouring cells a lane; nobody waits for another warp.
__device__ inline float spread(float left, float own, float right) { return own + 0.2f * (left + right - 2 * own); }

extern "C" __global__ void __launch_bounds__(1024, 2) heat_rods(const float *__restrict__ x, float *__restrict__ y, int steps) {
  __shared__ float rod[1026]; // the ends once more
  const int t = threadIdx.x;
  float own = x[(size_t)blockIdx.x * 1024 + t];
#pragma unroll 1
  for (int s = 0; s < steps; s++) {
    rod[t + 1] = own;
    if (t == 0) rod[0] = own;
    if (t == 1023) rod[1025] = own;
    __syncthreads();
    own = spread(rod[t], own, rod[t + 2]);
    __syncthreads();
  }
  y[(size_t)blockIdx.x * 1024 + t] = own;
}

extern "C" __global__ void __launch_bounds__(128) heat_rods_fixed(const float *__restrict__ x, float *__restrict__ y, int steps) {
  __shared__ float rods[4][32 * 33];
  const size_t first = ((size_t)blockIdx.x * 4 + threadIdx.x / 32) * 1024;
  const int lane = threadIdx.x % 32;
  float *rod = rods[threadIdx.x / 32], cells[32];
#pragma unroll
  for (int j = 0; j < 32; j++) rod[j * 33 + lane] = x[first + j * 32 + lane];
  __syncwarp();
#pragma unroll
  for (int j = 0; j < 32; j++) cells[j] = rod[lane * 33 + j];
#pragma unroll 1
  for (int s = 0; s < steps; s++) {
    float left = __shfl_up_sync(0xffffffff, cells[31], 1), right = __shfl_down_sync(0xffffffff, cells[0], 1);
    if (lane == 0) left = cells[0];
    if (lane == 31) right = cells[31];
#pragma unroll
    for (int j = 0; j < 32; j++) {
      const float own = cells[j];
      cells[j] = spread(left, own, j < 31 ? cells[j + 1] : right);
      left = own;
    }
  }
#pragma unroll
  for (int j = 0; j < 32; j++) rod[lane * 33 + j] = cells[j];
  __syncwarp();
#pragma unroll
  for (int j = 0; j < 32; j++) y[first + j * 32 + lane] = rod[j * 33 + lane];
}

// lockstep_fits (barrier-bound): every warp fits its own curve; in each step another one of the 32 needs 512 iterations and
// the others 8, and a barrier of the block stands where lanes of a warp exchange their values.
// Fixed: a barrier of the warp.
template <bool WHOLE_BLOCK>
__device__ inline void fit(const float *x, float *y, int steps) {
  __shared__ float values[1024];
  const int t = threadIdx.x;
  const float in = x[(size_t)blockIdx.x * 1024 + t];
  float v = in;
#pragma unroll 1
  for (int s = 0; s < steps; s++) {
    const int iterations = (t / 32 + s) % 32 == 0 ? 512 : 8;
#pragma unroll 8
    for (int k = 0; k < iterations; k++) v = v * 0.75f + in;
    values[t] = v;
    if (WHOLE_BLOCK) __syncthreads();
    else __syncwarp();
    v = v * 0.5f + values[t ^ 1] * 0.25f;
    if (WHOLE_BLOCK) __syncthreads();
    else __syncwarp();
  }
  y[(size_t)blockIdx.x * 1024 + t] = v;
}

extern "C" __global__ void __launch_bounds__(1024, 2) lockstep_fits(const float *__restrict__ x, float *__restrict__ y, int steps) {
  fit<true>(x, y, steps);
}

extern "C" __global__ void __launch_bounds__(1024, 2) lockstep_fits_fixed(const float *__restrict__ x, float *__restrict__ y, int steps) {
  fit<false>(x, y, steps);
}

// rejection_sampling (divergence): one draw in four is accepted. A warp draws each of its 64 samples until the last of its
// lanes has one: about 14 draws, where a lane needs 4.
// Fixed: a lane goes on to its next sample while others still draw.
__device__ inline unsigned draw(unsigned s) {
  s ^= s << 13;
  s ^= s >> 17;
  return s ^ s << 5;
}

// Density u³, in integers, since conversions to float would keep the special-function unit busy.
__device__ inline bool accepted(unsigned s, unsigned &u) {
  u = s >> 16;
  return (s & 0xffff) < ((u * u >> 16) * u >> 16);
}

extern "C" __global__ void __launch_bounds__(256)
    rejection_sampling(const unsigned *__restrict__ seeds, unsigned *__restrict__ sums, int samples) {
  const size_t i = (size_t)blockIdx.x * 256 + threadIdx.x;
  unsigned s = seeds[i], sum = 0;
#pragma unroll 1
  for (int k = 0; k < samples; k++) {
    unsigned u;
    do {
      s = draw(s);
    } while (!accepted(s, u));
    __syncwarp();
    sum += u;
  }
  sums[i] = sum;
}

extern "C" __global__ void __launch_bounds__(256)
    rejection_sampling_fixed(const unsigned *__restrict__ seeds, unsigned *__restrict__ sums, int samples) {
  const size_t i = (size_t)blockIdx.x * 256 + threadIdx.x;
  unsigned s = seeds[i], sum = 0;
#pragma unroll 1
  for (int k = 0; k < samples;) {
    unsigned u;
    s = draw(s);
    const bool taken = accepted(s, u);
    sum += taken ? u : 0;
    k += taken;
  }
  sums[i] = sum;
}

// Four materials with a law each.
__device__ inline float pressure(unsigned material, float v, int steps) {
  float p = v;
  if (material == 0) {
    for (int k = 0; k < steps; k++) p = (p * 0.6f + v) * (0.5f - p * 0.125f);
  } else if (material == 1) {
    for (int k = 0; k < steps; k++) p = fmaxf(p * v + 0.25f, p * 0.5f);
  } else if (material == 2) {
    for (int k = 0; k < steps; k++) p = v * 0.5f - fabsf(p - 0.25f) * 0.75f;
  } else {
    for (int k = 0; k < steps; k++) p = fminf(p * p + v * 0.5f, 0.75f - p * 0.25f);
  }
  return p;
}

// materials (divergence): cells of four materials lie as they come, so every warp works through all four laws.
// Fixed: a block sorts its 512 cells by material first: 3 of its 16 warps have two of them.
extern "C" __global__ void __launch_bounds__(512)
    materials(const float *__restrict__ x, const unsigned *__restrict__ kinds, float *__restrict__ y, int steps) {
  const size_t i = (size_t)blockIdx.x * 512 + threadIdx.x;
  y[i] = pressure(kinds[i] & 3, x[i], steps);
}

extern "C" __global__ void __launch_bounds__(512)
    materials_fixed(const float *__restrict__ x, const unsigned *__restrict__ kinds, float *__restrict__ y, int steps) {
  __shared__ int starts[4 * 16];
  __shared__ float values[512];
  __shared__ unsigned sorted[512];
  const size_t i = (size_t)blockIdx.x * 512 + threadIdx.x;
  const int t = threadIdx.x, lane = t % 32, warp = t / 32;
  const unsigned kind = kinds[i] & 3;
  unsigned same = 0;
#pragma unroll
  for (unsigned k = 0; k < 4; k++) {
    const unsigned lanes = __ballot_sync(0xffffffff, kind == k);
    if (kind == k) same = lanes;
    if (lane == 0) starts[k * 16 + warp] = __popc(lanes);
  }
  __syncthreads();
  if (warp == 0) { // counts become places
    const int a = starts[lane * 2], b = starts[lane * 2 + 1];
    int through = a + b;
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
      const int before = __shfl_up_sync(0xffffffff, through, d);
      if (lane >= d) through += before;
    }
    starts[lane * 2] = through - a - b;
    starts[lane * 2 + 1] = through - b;
  }
  __syncthreads();
  const int at = starts[kind * 16 + warp] + __popc(same & (1u << lane) - 1);
  values[at] = x[i];
  sorted[at] = kind;
  __syncthreads();
  const float p = pressure(sorted[t], values[t], steps);
  __syncthreads();
  values[t] = p;
  __syncthreads();
  y[i] = values[at];
}

// expert_counts (atomics-contention): every token goes to the expert with its largest logit, of 32, and is counted there: 2 M
// atomic additions to one line, where the 277 MB of logits take 66 µs.
// Fixed: a block counts in shared memory and adds its counts in the end.
template <bool BLOCK_FIRST>
__device__ inline void count_experts(const float4 *logits, int *counts) {
  __shared__ int own[32];
  if (BLOCK_FIRST) {
    if (threadIdx.x < 32) own[threadIdx.x] = 0;
    __syncthreads();
  }
  const int part = threadIdx.x % 8; // 8 lanes a token, 4 logits each
#pragma unroll 4
  for (int k = 0; k < 16; k++) {
    const float4 v = logits[((size_t)blockIdx.x * 16 + k) * 256 + threadIdx.x];
    float most = v.x;
    int expert = part * 4;
    if (v.y > most) most = v.y, expert = part * 4 + 1;
    if (v.z > most) most = v.z, expert = part * 4 + 2;
    if (v.w > most) most = v.w, expert = part * 4 + 3;
#pragma unroll
    for (int offset = 4; offset > 0; offset /= 2) {
      const float other = __shfl_xor_sync(0xffffffff, most, offset);
      const int of_other = __shfl_xor_sync(0xffffffff, expert, offset);
      if (other > most || (other == most && of_other < expert)) most = other, expert = of_other;
    }
    if (part == 0) atomicAdd(BLOCK_FIRST ? &own[expert] : &counts[expert], 1);
  }
  if (BLOCK_FIRST) {
    __syncthreads();
    if (threadIdx.x < 32) atomicAdd(&counts[threadIdx.x], own[threadIdx.x]);
  }
}

extern "C" __global__ void __launch_bounds__(256) expert_counts(const float4 *__restrict__ logits, int *__restrict__ counts) {
  count_experts<false>(logits, counts);
}

extern "C" __global__ void __launch_bounds__(256) expert_counts_fixed(const float4 *__restrict__ logits, int *__restrict__ counts) {
  count_experts<true>(logits, counts);
}

// peak_search (atomics-contention): a warp finds the largest of 128 numbers and compares it with the peak, one word of memory:
// 1.1 M atomic maxima for 554 MB, which take 132 µs of DRAM.
// Fixed: a block compares once.
__device__ inline unsigned bits_of_largest(float4 v) { // of numbers that are not negative
  return __float_as_uint(fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)));
}

extern "C" __global__ void __launch_bounds__(256) peak_search(const float4 *__restrict__ x, unsigned *__restrict__ peak) {
#pragma unroll 4
  for (int k = 0; k < 16; k++) {
    const unsigned most = __reduce_max_sync(0xffffffff, bits_of_largest(x[((size_t)blockIdx.x * 16 + k) * 256 + threadIdx.x]));
    if (threadIdx.x % 32 == 0) atomicMax(peak, most);
  }
}

extern "C" __global__ void __launch_bounds__(256) peak_search_fixed(const float4 *__restrict__ x, unsigned *__restrict__ peak) {
  __shared__ unsigned largest[8];
  unsigned most = 0;
#pragma unroll 4
  for (int k = 0; k < 16; k++) most = max(most, bits_of_largest(x[((size_t)blockIdx.x * 16 + k) * 256 + threadIdx.x]));
  most = __reduce_max_sync(0xffffffff, most);
  if (threadIdx.x % 32 == 0) largest[threadIdx.x / 32] = most;
  __syncthreads();
  if (threadIdx.x < 32) {
    most = __reduce_max_sync(0xffffffff, largest[threadIdx.x % 8]);
    if (threadIdx.x == 0) atomicMax(peak, most);
  }
}
