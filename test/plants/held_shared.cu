// Held-out faces: banks of shared memory, and how much of it a block takes.
#include "plant.cuh"

// hadamard_rows (bank-conflicts): Walsh-Hadamard transforms of 256 numbers, 16 threads each, in two stages of 16. In the
// first one a lane's 16 words begin 16 words behind its neighbour's: two banks for a warp, 16 wavefronts an access.
// 4480 cycles for 32 KB, which take 1800 of DRAM.
// Fixed: one word in 16 is left free.
template <int FREE>
__device__ inline int place(int i) {
  return i + (FREE ? i / 16 : 0);
}

__device__ inline void transform_16(float (&v)[16]) {
#pragma unroll
  for (int half = 1; half < 16; half *= 2) {
#pragma unroll
    for (int i = 0; i < 16; i++) {
      if (i & half) continue;
      const float a = v[i], b = v[i + half];
      v[i] = a + b;
      v[i + half] = a - b;
    }
  }
}

template <int FREE>
__device__ inline void transform_rows(const float *x, float *y) {
  __shared__ float rows[4096 + FREE * 256];
  volatile float *words = rows; // as single words: the compiler joins them where they are aligned
  const int own = threadIdx.x / 32 * 512, lane = threadIdx.x % 32; // two rows a warp
  const int row = own + lane / 16 * 256, column = lane % 16;
  const size_t first = (size_t)blockIdx.x * 4096;
#pragma unroll
  for (int k = 0; k < 16; k++) words[place<FREE>(own + k * 32 + lane)] = x[first + own + k * 32 + lane];
  __syncwarp();
  float v[16];
#pragma unroll
  for (int k = 0; k < 16; k++) v[k] = words[place<FREE>(row + column * 16) + k];
  transform_16(v);
#pragma unroll
  for (int k = 0; k < 16; k++) words[place<FREE>(row + column * 16) + k] = v[k];
  __syncwarp();
#pragma unroll
  for (int k = 0; k < 16; k++) v[k] = words[place<FREE>(row + column) + k * (16 + FREE)];
  transform_16(v);
#pragma unroll
  for (int k = 0; k < 16; k++) y[first + row + column + k * 16] = v[k] * (1 / 16.f);
}

extern "C" __global__ void __launch_bounds__(256) hadamard_rows(const float *__restrict__ x, float *__restrict__ y) {
  transform_rows<0>(x, y);
}

extern "C" __global__ void __launch_bounds__(256) hadamard_rows_fixed(const float *__restrict__ x, float *__restrict__ y) {
  transform_rows<1>(x, y);
}

// substitution_rounds (bank-conflicts): rounds of a cipher that look up 16 bytes of the state in a table of 256 words. Lanes
// look up different words: about 3.3 wavefronts, where the arithmetic of a look-up takes 1.5 cycles.
// Fixed: a copy of the table for every lane, each in its own bank.
template <int COPIES> // 1 or 32
__device__ inline void encrypt(const uint4 *x, const unsigned *table, uint4 *y, int rounds) {
  __shared__ unsigned words[256 * COPIES];
  for (int i = threadIdx.x; i < 256 * COPIES; i += 256) words[i] = table[i / COPIES];
  __syncthreads();
  constexpr int SHIFT = COPIES == 32 ? 7 : 2; // of an entry's bytes
  const unsigned lane = COPIES == 32 ? threadIdx.x % 32 * 4 : 0;
  const auto look_up = [&](unsigned word, int byte) {
    const unsigned at = byte * 8 < SHIFT ? word << (SHIFT - byte * 8) : word >> (byte * 8 - SHIFT);
    return *(const unsigned *)((const char *)words + (at & 255 << SHIFT | lane));
  };
  const size_t i = (size_t)blockIdx.x * 256 + threadIdx.x;
  const uint4 v = x[i];
  unsigned s[4] = {v.x, v.y, v.z, v.w};
#pragma unroll 1
  for (int r = 0; r < rounds; r++) {
    unsigned next[4];
#pragma unroll
    for (int j = 0; j < 4; j++) {
      next[j] = look_up(s[j], 0) ^ look_up(s[(j + 1) % 4], 1) ^ look_up(s[(j + 2) % 4], 2) ^ look_up(s[(j + 3) % 4], 3) ^ r;
    }
#pragma unroll
    for (int j = 0; j < 4; j++) s[j] = next[j];
  }
  y[i] = make_uint4(s[0], s[1], s[2], s[3]);
}

extern "C" __global__ void __launch_bounds__(256)
    substitution_rounds(const uint4 *__restrict__ x, const unsigned *__restrict__ table, uint4 *__restrict__ y, int rounds) {
  encrypt<1>(x, table, y, rounds);
}

extern "C" __global__ void __launch_bounds__(256)
    substitution_rounds_fixed(const uint4 *__restrict__ x, const unsigned *__restrict__ table, uint4 *__restrict__ y, int rounds) {
  encrypt<32>(x, table, y, rounds);
}

extern __shared__ unsigned dynamic[];

// warp_histograms (shared-occupancy): records of 16 bytes are counted in 4096 bins, and every warp of a block has bins of its
// own: 128 KB, one block of 8 warps an SM, each with one load of 512 bytes under way: 0.8 TB/s.
// Fixed: one set of bins for the block: 8 blocks an SM; DRAM is the limit.
template <int COPIES>
__device__ inline void count_records(const uint4 *records, unsigned *counts, int per_thread) {
  for (int i = threadIdx.x; i < 4096 * COPIES; i += 256) dynamic[i] = 0;
  __syncthreads();
  unsigned *own = dynamic + threadIdx.x / 32 % COPIES * 4096;
  const uint4 *from = records + (size_t)blockIdx.x * per_thread * 256 + threadIdx.x;
#pragma unroll 1
  for (int k = 0; k < per_thread; k++) {
    const uint4 v = from[k * 256];
    atomicAdd(&own[((v.x ^ v.y) + (v.z ^ v.w)) * 2654435761u >> 20], 1);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < 4096; i += 256) {
    unsigned sum = 0;
#pragma unroll
    for (int c = 0; c < COPIES; c++) sum += dynamic[c * 4096 + i];
    counts[(size_t)blockIdx.x * 4096 + i] = sum;
  }
}

extern "C" __global__ void __launch_bounds__(256)
    warp_histograms(const uint4 *__restrict__ records, unsigned *__restrict__ counts, int per_thread) {
  count_records<8>(records, counts, per_thread);
}

extern "C" __global__ void __launch_bounds__(256)
    warp_histograms_fixed(const uint4 *__restrict__ records, unsigned *__restrict__ counts, int per_thread) {
  count_records<1>(records, counts, per_thread);
}

// edit_distances (shared-occupancy): a warp fills the table of distances between a word of 32 letters and a text of 512, lane j
// column j, a diagonal at a time. The whole table stays in shared memory, though a diagonal needs only the one before it:
// 68 KB, three blocks of one warp an SM; a diagonal is about 70 cycles of latency and 20 instructions.
// Fixed: 4 diagonals in turns: 32 blocks an SM, and the integer pipe is the limit.
template <int KEPT> // a power of two
__device__ inline void distances(const unsigned *text, const unsigned *word, int *last_row) {
  constexpr int ROWS = 512;
  int *table = (int *)dynamic;
  const int lane = threadIdx.x;
  text += (size_t)blockIdx.x * ROWS;
  const unsigned own = word[blockIdx.x * 32 + lane];
  int above = lane + 1, corner = lane; // of row 0
  unsigned letter = text[0];
#pragma unroll 1
  for (int d = 0; d < ROWS + 31; d++) {
    const int row = d - lane + 1;
    const unsigned next = text[min(max(row, 0), ROWS - 1)];
    const int left = lane == 0 ? row : table[(d & KEPT - 1) * 32 + lane - 1];
    if (row >= 1 && row <= ROWS) {
      above = min(min(above, left) + 1, corner + (own != letter));
      corner = left;
    }
    letter = next;
    table[(d + 1 & KEPT - 1) * 32 + lane] = above;
    __syncwarp();
  }
  last_row[blockIdx.x * 32 + lane] = above;
}

extern "C" __global__ void __launch_bounds__(32)
    edit_distances(const unsigned *__restrict__ text, const unsigned *__restrict__ word, int *__restrict__ last_row) {
  distances<1024>(text, word, last_row);
}

extern "C" __global__ void __launch_bounds__(32)
    edit_distances_fixed(const unsigned *__restrict__ text, const unsigned *__restrict__ word, int *__restrict__ last_row) {
  distances<4>(text, word, last_row);
}
