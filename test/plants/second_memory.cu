// Second faces of the causes: what is slow about memory.
#include "plant.cuh"

// particle_energies (uncoalesced-loads): a thread reads the 16 words of its particle one after the other, so a request of a
// warp touches 32 sectors in 16 lines.
// Fixed: the block reads its particles as they lie, and passes them through shared memory.
__device__ inline float energy(const float *p) {
  float sum = 0;
#pragma unroll
  for (int k = 0; k < 16; k++) sum += p[k] * p[k] * (k + 1);
  return sum;
}

extern "C" __global__ void __launch_bounds__(256) particle_energies(const float *__restrict__ x, float *__restrict__ y) {
  const size_t i = blockIdx.x * 256 + threadIdx.x;
  y[i] = energy(x + i * 16);
}

extern "C" __global__ void __launch_bounds__(256) particle_energies_fixed(const float4 *__restrict__ x, float *__restrict__ y) {
  __shared__ float tile[256 * 17];
#pragma unroll
  for (int j = 0; j < 4; j++) {
    const int at = j * 256 + threadIdx.x;
    const float4 v = x[(size_t)blockIdx.x * 1024 + at];
    float *to = tile + at / 4 * 17 + at % 4 * 4;
    to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
  }
  __syncthreads();
  y[(size_t)blockIdx.x * 256 + threadIdx.x] = energy(tile + threadIdx.x * 17);
}

// pack_records (uncoalesced-stores): 16 columns become records of 16 words; a thread writes its record word by word, 32
// sectors a request with 4 bytes each.
// Fixed: records pass through shared memory and are written as they lie.
extern "C" __global__ void __launch_bounds__(256) pack_records(const float *__restrict__ x, float *__restrict__ y, int n) {
  const size_t i = blockIdx.x * 256 + threadIdx.x;
#pragma unroll
  for (int k = 0; k < 16; k++) y[i * 16 + k] = x[(size_t)k * n + i] * 2;
}

extern "C" __global__ void __launch_bounds__(256) pack_records_fixed(const float *__restrict__ x, float4 *__restrict__ y, int n) {
  __shared__ float tile[256 * 17];
  const size_t i = blockIdx.x * 256 + threadIdx.x;
#pragma unroll
  for (int k = 0; k < 16; k++) tile[threadIdx.x * 17 + k] = x[(size_t)k * n + i] * 2;
  __syncthreads();
#pragma unroll
  for (int j = 0; j < 4; j++) {
    const int at = j * 256 + threadIdx.x;
    const float *from = tile + at / 4 * 17 + at % 4 * 4;
    y[(size_t)blockIdx.x * 1024 + at] = make_float4(from[0], from[1], from[2], from[3]);
  }
}

// row_per_lane (bank-conflicts): a warp multiplies a vector by its matrix of 32 by 32 again and again; each lane has a row,
// and rows of 32 words begin in the same bank.
// Fixed: rows of 33 words.
template <int WIDTH>
__device__ inline void apply(const float *a, const float *v, float *y, int steps) {
  __shared__ float rows[4][32 * WIDTH];
  const int lane = threadIdx.x % 32;
  const size_t matrix = blockIdx.x * 4 + threadIdx.x / 32;
  float *own = rows[threadIdx.x / 32];
#pragma unroll 8
  for (int r = 0; r < 32; r++) own[r * WIDTH + lane] = a[(matrix * 32 + r) * 32 + lane];
  __syncwarp();
  float u = v[matrix * 32 + lane];
#pragma unroll 1
  for (int s = 0; s < steps; s++) {
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 32; k++) sum += own[lane * WIDTH + k] * __shfl_sync(0xffffffff, u, k);
    u = sum;
    asm volatile("" ::: "memory"); // the rows stay in shared memory
  }
  y[matrix * 32 + lane] = u;
}

extern "C" __global__ void __launch_bounds__(128)
    row_per_lane(const float *__restrict__ a, const float *__restrict__ v, float *__restrict__ y, int steps) {
  apply<32>(a, v, y, steps);
}

extern "C" __global__ void __launch_bounds__(128)
    row_per_lane_fixed(const float *__restrict__ a, const float *__restrict__ v, float *__restrict__ y, int steps) {
  apply<33>(a, v, y, steps);
}

// rolled_filters (register-spills): the loop over 20 filters is not unrolled, so their states cannot lie in registers: a load
// and a store of local memory for every multiply-add.
// Fixed: it is unrolled.
template <bool ROLLED>
__device__ inline float filters(const float *x, int n, int steps) {
  float s[20];
#pragma unroll
  for (int j = 0; j < 20; j++) s[j] = 0;
#pragma unroll 1
  for (int k = 0; k < steps; k++) {
    const float v = x[(size_t)k * n];
    float decay = 0.5f;
#pragma unroll(ROLLED ? 1 : 20)
    for (int j = 0; j < 20; j++) {
      s[j] = s[j] * decay + v;
      decay += 0.02f;
    }
  }
  float sum = 0;
#pragma unroll
  for (int j = 0; j < 20; j++) sum += s[j] * (j + 1);
  return sum;
}

extern "C" __global__ void __launch_bounds__(256) rolled_filters(const float *__restrict__ x, float *__restrict__ y, int n, int steps) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  y[i] = filters<true>(x + i, n, steps);
}

extern "C" __global__ void __launch_bounds__(256)
    rolled_filters_fixed(const float *__restrict__ x, float *__restrict__ y, int n, int steps) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  y[i] = filters<false>(x + i, n, steps);
}

// kept_samples (register-occupancy): 150 samples wait in registers for the end of a walk through the table: 8 warps an SM.
// Fixed: they are read when the walk has ended.
template <bool EARLY>
__device__ inline float walk_and_add(const unsigned *table, const float *samples, unsigned mask, int steps) {
  constexpr int COUNT = 150;
  float kept[COUNT];
  if (EARLY) {
#pragma unroll
    for (int j = 0; j < COUNT; j++) {
      kept[j] = samples[j * 256 + threadIdx.x];
      asm volatile("" : "+f"(kept[j])); // it is read here
    }
  }
  unsigned chunk = first_chunk((blockIdx.x * 256 + threadIdx.x) / 32, mask);
  float sum = 0, value, all = 0;
#pragma unroll 1
  for (int k = 0; k < steps; k++) {
    chunk = next_chunk(table, chunk, mask, value);
    sum = sum * 0.5f + value;
  }
#pragma unroll
  for (int j = 0; j < COUNT; j++) all += (EARLY ? kept[j] : samples[j * 256 + threadIdx.x]) * sum;
  return all;
}

extern "C" __global__ void __launch_bounds__(256)
    kept_samples(const unsigned *__restrict__ table, const float *__restrict__ samples, float *__restrict__ y, unsigned mask, int steps) {
  y[blockIdx.x * 256 + threadIdx.x] = walk_and_add<true>(table, samples, mask, steps);
}

extern "C" __global__ void __launch_bounds__(256)
    kept_samples_fixed(const unsigned *__restrict__ table, const float *__restrict__ samples, float *__restrict__ y, unsigned mask, int steps) {
  y[blockIdx.x * 256 + threadIdx.x] = walk_and_add<false>(table, samples, mask, steps);
}

// table_per_thread (shared-occupancy): every thread has a copy of the same 128 numbers, 64 KB a block: three blocks of 4 warps
// an SM.
// Fixed: one copy for the block.
extern __shared__ float dynamic[];

template <int COPIES>
__device__ inline void look_up(const unsigned *table, const float *c, float *y, unsigned mask, int steps) {
  const unsigned i = blockIdx.x * 128 + threadIdx.x, copy = threadIdx.x % COPIES;
  for (int k = 0; k < 128; k++) {
    if (COPIES == 128 || k == threadIdx.x) dynamic[k * COPIES + copy] = c[k];
  }
  __syncthreads();
  unsigned chunk = first_chunk(i / 32, mask);
  float sum = 0, value;
#pragma unroll 1
  for (int k = 0; k < steps; k++) {
    chunk = next_chunk(table, chunk, mask, value);
    sum = sum * 0.5f + dynamic[(chunk & 127) * COPIES + copy] * value;
  }
  y[i] = sum;
}

extern "C" __global__ void __launch_bounds__(128)
    table_per_thread(const unsigned *__restrict__ table, const float *__restrict__ c, float *__restrict__ y, unsigned mask, int steps) {
  look_up<128>(table, c, y, mask, steps);
}

extern "C" __global__ void __launch_bounds__(128)
    table_per_thread_fixed(const unsigned *__restrict__ table, const float *__restrict__ c, float *__restrict__ y, unsigned mask, int steps) {
  look_up<1>(table, c, y, mask, steps);
}

// window_sums (l2-bound): every sum reads its 64 numbers, 1 KB apart, past the L1, though neighbouring blocks read 63 of them too.
// Fixed: a thread reads 71 numbers for 8 sums.
extern "C" __global__ void __launch_bounds__(256)
    window_sums(const float *__restrict__ x, const float *__restrict__ w, float *__restrict__ y) {
  __shared__ float weights[64];
  if (threadIdx.x < 64) weights[threadIdx.x] = w[threadIdx.x];
  __syncthreads();
  const size_t i = blockIdx.x * 256 + threadIdx.x;
  float sum = 0;
#pragma unroll 16
  for (int j = 0; j < 64; j++) sum += __ldcg(x + i + j * 256) * weights[j];
  y[i] = sum;
}

extern "C" __global__ void __launch_bounds__(256)
    window_sums_fixed(const float *__restrict__ x, const float *__restrict__ w, float *__restrict__ y) {
  __shared__ float weights[64];
  if (threadIdx.x < 64) weights[threadIdx.x] = w[threadIdx.x];
  __syncthreads();
  const size_t i = blockIdx.x * 2048 + threadIdx.x;
  float sums[8] = {0, 0, 0, 0, 0, 0, 0, 0};
#pragma unroll
  for (int k = 0; k < 64 + 7; k++) {
    const float v = __ldcg(x + i + k * 256);
#pragma unroll
    for (int q = 0; q < 8; q++)
      if (k >= q && k < q + 64) sums[q] += v * weights[k - q];
  }
#pragma unroll
  for (int q = 0; q < 8; q++) y[i + q * 256] = sums[q];
}

// zero_bias (dram-bound): a bias is added that is zero everywhere: a third of the bytes.
// Fixed: the twin knows, and does not read it.
template <bool KNOWN>
__device__ inline void add_bias(const float4 *x, const float4 *bias, float4 *y, float a) {
  const size_t i = (size_t)blockIdx.x * 512 + threadIdx.x;
#pragma unroll
  for (int j = 0; j < 2; j++) {
    const float4 v = x[i + j * 256];
    float4 b = make_float4(0, 0, 0, 0);
    if (!KNOWN) b = bias[i + j * 256];
    y[i + j * 256] = make_float4(v.x * a + b.x, v.y * a + b.y, v.z * a + b.z, v.w * a + b.w);
  }
}

extern "C" __global__ void __launch_bounds__(256)
    zero_bias(const float4 *__restrict__ x, const float4 *__restrict__ bias, float4 *__restrict__ y, float a) {
  add_bias<false>(x, bias, y, a);
}

extern "C" __global__ void __launch_bounds__(256)
    zero_bias_fixed(const float4 *__restrict__ x, const float4 *__restrict__ bias, float4 *__restrict__ y, float a) {
  add_bias<true>(x, bias, y, a);
}

// separate_statistics (redundant-dram): the sum, the sum of squares and the maximum are made by one pass each; what all blocks
// have under way does not fit into the L2.
// Fixed: one pass.
__device__ inline float block_max(float v) {
  __shared__ float most[32];
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) v = fmaxf(v, __shfl_xor_sync(0xffffffff, v, offset));
  if (threadIdx.x % 32 == 0) most[threadIdx.x / 32] = v;
  __syncthreads();
  v = most[threadIdx.x % (blockDim.x / 32)];
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) v = fmaxf(v, __shfl_xor_sync(0xffffffff, v, offset));
  return v;
}

__device__ inline void write_statistics(float *y, float sum, float squares, float most) {
  sum = block_sum(sum);
  __syncthreads();
  squares = block_sum(squares);
  most = block_max(most);
  if (threadIdx.x == 0) {
    y[blockIdx.x * 3] = sum;
    y[blockIdx.x * 3 + 1] = squares;
    y[blockIdx.x * 3 + 2] = most;
  }
}

extern "C" __global__ void __launch_bounds__(1024, 2)
    separate_statistics(const float4 *__restrict__ x, float *__restrict__ y, int columns) {
  const float4 *row = x + (size_t)blockIdx.x * (columns / 4);
  float sum = 0, squares = 0, most = 0;
#pragma unroll 4
  for (int c = threadIdx.x; c < columns / 4; c += 1024) {
    const float4 v = row[c];
    sum += v.x + v.y + (v.z + v.w);
  }
  __syncthreads();
#pragma unroll 4
  for (int c = threadIdx.x; c < columns / 4; c += 1024) {
    const float4 v = row[c];
    squares += v.x * v.x + v.y * v.y + (v.z * v.z + v.w * v.w);
  }
  __syncthreads();
#pragma unroll 4
  for (int c = threadIdx.x; c < columns / 4; c += 1024) {
    const float4 v = row[c];
    most = fmaxf(fmaxf(most, fmaxf(v.x, v.y)), fmaxf(v.z, v.w));
  }
  write_statistics(y, sum, squares, most);
}

extern "C" __global__ void __launch_bounds__(1024, 2)
    separate_statistics_fixed(const float4 *__restrict__ x, float *__restrict__ y, int columns) {
  const float4 *row = x + (size_t)blockIdx.x * (columns / 4);
  float sum = 0, squares = 0, most = 0;
#pragma unroll 4
  for (int c = threadIdx.x; c < columns / 4; c += 1024) {
    const float4 v = row[c];
    sum += v.x + v.y + (v.z + v.w);
    squares += v.x * v.x + v.y * v.y + (v.z * v.z + v.w * v.w);
    most = fmaxf(fmaxf(most, fmaxf(v.x, v.y)), fmaxf(v.z, v.w));
  }
  write_statistics(y, sum, squares, most);
}

// chains_in_turn (latency-bound): a warp walks through a table of 128 MiB on four ways, one after the other: one line of it
// under way.
// Fixed: all four ways at once.
extern "C" __global__ void __launch_bounds__(256)
    chains_in_turn(const unsigned *__restrict__ table, float *__restrict__ y, unsigned mask, int steps) {
  const unsigned warp = (blockIdx.x * 256 + threadIdx.x) / 32, lane = threadIdx.x % 32;
#pragma unroll 1
  for (int c = 0; c < 4; c++) {
    unsigned chunk = first_chunk(warp * 4 + c, mask);
    float sum = 0, value;
#pragma unroll 1
    for (int k = 0; k < steps; k++) {
      chunk = next_chunk(table, chunk, mask, value);
      sum = sum * 0.5f + value;
    }
    y[(warp * 4 + c) * 32 + lane] = sum;
  }
}

extern "C" __global__ void __launch_bounds__(256)
    chains_in_turn_fixed(const unsigned *__restrict__ table, float *__restrict__ y, unsigned mask, int steps) {
  const unsigned warp = (blockIdx.x * 256 + threadIdx.x) / 32, lane = threadIdx.x % 32;
  unsigned chunk[4];
  float sum[4] = {}, value[4];
#pragma unroll
  for (int c = 0; c < 4; c++) chunk[c] = first_chunk(warp * 4 + c, mask);
#pragma unroll 1
  for (int k = 0; k < steps; k++) {
    unsigned word[4];
#pragma unroll
    for (int c = 0; c < 4; c++) word[c] = table[chunk[c] * 32 + lane];
#pragma unroll
    for (int c = 0; c < 4; c++) {
      value[c] = (word[c] >> 8) * (1 / 16777216.f);
      chunk[c] = __shfl_sync(0xffffffff, word[c], 0) & mask;
      sum[c] = sum[c] * 0.5f + value[c];
    }
  }
#pragma unroll
  for (int c = 0; c < 4; c++) y[(warp * 4 + c) * 32 + lane] = sum[c];
}
