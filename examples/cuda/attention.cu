// Attention forward: out = softmax(q kᵀ · scale) v on [B, H, S, D] tensors of f16, or of bf16 with -DBF16. scale > 0.
//
// A block takes BLOCK_M query rows of one head and visits the keys in tiles of BLOCK_N. Every row keeps the largest
// score and the sum of exponentials seen so far and rescales its output when a larger score turns up (online softmax),
// so the S×S matrix never exists. Each warp owns whole rows: the softmax needs no exchange between warps, and the
// probabilities of a row go from the accumulators of the first product into the operands of the second one without
// leaving the registers. NUM_STAGES tiles of keys and values are in shared memory at a time; all but the one in use
// are being fetched.
#include "mma.cuh"

#ifndef BLOCK_M
#define BLOCK_M 64
#endif
#ifndef BLOCK_N
#define BLOCK_N 32
#endif
#ifndef NUM_WARPS
#define NUM_WARPS 4
#endif
#ifndef NUM_STAGES
#define NUM_STAGES 1
#endif
#ifndef HEAD_DIM
#define HEAD_DIM 64
#endif
#ifdef BF16
typedef bf16 element;
#else
typedef half element;
#endif

constexpr int THREADS = 32 * NUM_WARPS;
constexpr int WARP_M = BLOCK_M / NUM_WARPS; // rows of a warp
constexpr int FRAGS_M = WARP_M / 16;        // 16 rows are what one mma takes
constexpr int CHUNKS = HEAD_DIM / 8;        // 16-byte pieces of a row
constexpr int BYTES_OF_16_ROWS = 16 * HEAD_DIM * 2;

// Fragments of the queries are the same for every tile. Where they would crowd out the accumulators they are read
// from shared memory again.
constexpr bool KEEP_Q = FRAGS_M * HEAD_DIM <= 128;

static_assert(BLOCK_M % (16 * NUM_WARPS) == 0, "every warp needs a multiple of 16 rows");
static_assert(BLOCK_N % 16 == 0, "keys are multiplied by the 16");
static_assert(HEAD_DIM == 64 || HEAD_DIM == 128, "a head has 64 or 128 elements");

struct Stage {
  element k[BLOCK_N * HEAD_DIM], v[BLOCK_N * HEAD_DIM];
};

// All of the dynamic shared memory: (BLOCK_M + 2 * NUM_STAGES * BLOCK_N) * HEAD_DIM * 2 bytes.
struct Shared {
  element q[BLOCK_M * HEAD_DIM];
  Stage stage[NUM_STAGES];
};

__device__ inline float exp2_approx(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// Starts to copy ROWS rows, of which the first `inside` exist; the others become zeros.
template <int ROWS>
__device__ inline void fetch(element *tile, const element *from, int inside) {
  constexpr int PASS = THREADS / CHUNKS; // rows that all threads copy together
  static_assert(ROWS % PASS == 0, "threads share the rows evenly");
  const unsigned to = shared_address(tile);
  const int chunk = threadIdx.x % CHUNKS;
#pragma unroll
  for (int i = 0; i < ROWS; i += PASS) {
    const int row = i + threadIdx.x / CHUNKS;
    copy_async(to + chunk_at<HEAD_DIM>(row, chunk), from + row * HEAD_DIM + chunk * 8, row < inside);
  }
}

// What a warp knows of its rows: lane i holds rows i / 4 and i / 4 + 8 of every fragment.
struct Rows {
  float out[FRAGS_M][HEAD_DIM / 8][4];
  float max[FRAGS_M][2];
  float sum[FRAGS_M][2]; // of this lane's columns only
};

__device__ inline void load_queries(unsigned (&q)[FRAGS_M][4], const element *tile, int step) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#pragma unroll
  for (int m = 0; m < FRAGS_M; m++) {
    const int row = warp * WARP_M + m * 16 + lane % 16;
    load_matrices(q[m], shared_address(tile) + chunk_at<HEAD_DIM>(row, step * 2 + lane / 16));
  }
}

// scores = q kᵀ
__device__ inline void multiply_keys(float (&scores)[FRAGS_M][BLOCK_N / 8][4],
                                     unsigned (&queries)[HEAD_DIM / 16][FRAGS_M][4], const element *q,
                                     const element *k) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int m = 0; m < FRAGS_M; m++) {
#pragma unroll
    for (int n = 0; n < BLOCK_N / 8; n++) {
#pragma unroll
      for (int i = 0; i < 4; i++) scores[m][n][i] = 0;
    }
  }
#pragma unroll
  for (int step = 0; step < HEAD_DIM / 16; step++) {
    if (!KEEP_Q) load_queries(queries[step], q, step);
    const unsigned from = shared_address(k) + chunk_at<HEAD_DIM>(lane / 16 * 8 + lane % 8, step * 2 + lane / 8 % 2);
#pragma unroll
    for (int n = 0; n < BLOCK_N / 16; n++) {
      unsigned keys[4];
      load_matrices(keys, from + n * BYTES_OF_16_ROWS);
#pragma unroll
      for (int m = 0; m < FRAGS_M; m++) {
        mma<element>(scores[m][2 * n], queries[step][m], keys[0], keys[1]);
        mma<element>(scores[m][2 * n + 1], queries[step][m], keys[2], keys[3]);
      }
    }
  }
}

// Hides keys past the end and, with the causal mask, those after the query. row0 and col0: the warp's first row and
// the tile's first key.
__device__ inline void mask(float (&scores)[FRAGS_M][BLOCK_N / 8][4], int row0, int col0, int seq, bool causal) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int m = 0; m < FRAGS_M; m++) {
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const int row = row0 + m * 16 + lane / 4 + i / 2 * 8;
      const int end = (causal ? min(seq, row + 1) : seq) - col0 - lane % 4 * 2 - i % 2;
#pragma unroll
      for (int n = 0; n < BLOCK_N / 8; n++) {
        if (n * 8 >= end) scores[m][n][i] = -__int_as_float(0x7f800000);
      }
    }
  }
}

// Turns scores into exponentials relative to the largest score so far and shrinks what came before to match. Key 0 is
// visible to every row and comes first, so the largest score is always finite.
__device__ inline void weigh(float (&scores)[FRAGS_M][BLOCK_N / 8][4], Rows &rows, float scale_log2) {
#pragma unroll
  for (int m = 0; m < FRAGS_M; m++) {
#pragma unroll
    for (int r = 0; r < 2; r++) {
      float top = rows.max[m][r];
#pragma unroll
      for (int n = 0; n < BLOCK_N / 8; n++) top = fmaxf(top, fmaxf(scores[m][n][2 * r], scores[m][n][2 * r + 1]));
      top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 1));
      top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 2));
      const float shrink = exp2_approx((rows.max[m][r] - top) * scale_log2);
      const float offset = top * scale_log2;
      float sum = 0;
#pragma unroll
      for (int n = 0; n < BLOCK_N / 8; n++) {
#pragma unroll
        for (int i = 2 * r; i < 2 * r + 2; i++) {
          scores[m][n][i] = exp2_approx(scores[m][n][i] * scale_log2 - offset);
          sum += scores[m][n][i];
        }
      }
      rows.max[m][r] = top;
      rows.sum[m][r] = rows.sum[m][r] * shrink + sum;
#pragma unroll
      for (int d = 0; d < HEAD_DIM / 8; d++) {
        rows.out[m][d][2 * r] *= shrink;
        rows.out[m][d][2 * r + 1] *= shrink;
      }
    }
  }
}

// out += weights v. An accumulator of the first product has the layout of an operand of this one.
__device__ inline void add_values(Rows &rows, const float (&weights)[FRAGS_M][BLOCK_N / 8][4], const element *v) {
  const int lane = threadIdx.x % 32;
  unsigned from[HEAD_DIM / 16];
#pragma unroll
  for (int d = 0; d < HEAD_DIM / 16; d++) {
    from[d] = shared_address(v) + chunk_at<HEAD_DIM>(lane % 16, d * 2 + lane / 16);
  }
#pragma unroll
  for (int n = 0; n < BLOCK_N / 16; n++) {
    unsigned w[FRAGS_M][4];
#pragma unroll
    for (int m = 0; m < FRAGS_M; m++) {
#pragma unroll
      for (int i = 0; i < 4; i++) {
        const float(&pair)[4] = weights[m][2 * n + i / 2];
        w[m][i] = pack<element>(pair[i % 2 * 2], pair[i % 2 * 2 + 1]);
      }
    }
#pragma unroll
    for (int d = 0; d < HEAD_DIM / 16; d++) {
      unsigned values[4];
      load_matrices_transposed(values, from[d] + n * BYTES_OF_16_ROWS);
#pragma unroll
      for (int m = 0; m < FRAGS_M; m++) {
        mma<element>(rows.out[m][2 * d], w[m], values[0], values[1]);
        mma<element>(rows.out[m][2 * d + 1], w[m], values[2], values[3]);
      }
    }
  }
}

// Divides by the sums and writes the rows that exist. They pass through the warp's own rows of the queries' tile, so
// that global memory is written in pieces of 16 bytes.
__device__ inline void finish(Rows &rows, element *tile, element *out, int inside) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  char *const bytes = (char *)tile;
  __syncwarp();
#pragma unroll
  for (int m = 0; m < FRAGS_M; m++) {
#pragma unroll
    for (int r = 0; r < 2; r++) {
      float sum = rows.sum[m][r];
      sum += __shfl_xor_sync(0xffffffffu, sum, 1);
      sum += __shfl_xor_sync(0xffffffffu, sum, 2);
      const float factor = 1 / sum;
      const int row = warp * WARP_M + m * 16 + r * 8 + lane / 4;
#pragma unroll
      for (int d = 0; d < HEAD_DIM / 8; d++) {
        *(unsigned *)(bytes + chunk_at<HEAD_DIM>(row, d) + lane % 4 * 4) =
            pack<element>(rows.out[m][d][2 * r] * factor, rows.out[m][d][2 * r + 1] * factor);
      }
    }
  }
  __syncwarp();
  const int chunk = lane % CHUNKS;
#pragma unroll
  for (int i = 0; i < WARP_M; i += 32 / CHUNKS) {
    const int row = warp * WARP_M + i + lane / CHUNKS;
    if (row < inside) *(uint4 *)(out + row * HEAD_DIM + chunk * 8) = *(uint4 *)(bytes + chunk_at<HEAD_DIM>(row, chunk));
  }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    attention(const element *__restrict__ q, const element *__restrict__ k, const element *__restrict__ v,
              element *__restrict__ out, int seq, float scale, int causal) {
  extern __shared__ __align__(128) char memory[];
  Shared &shared = *(Shared *)memory;

  const int tiles = (seq + BLOCK_M - 1) / BLOCK_M;
  const int tile = blockIdx.x % tiles;
  const int row0 = (causal ? tiles - 1 - tile : tile) * BLOCK_M; // under a mask the longest rows start first
  const int warp_row0 = row0 + threadIdx.x / 32 * WARP_M;
  const size_t head = (size_t)(blockIdx.x / tiles) * seq * HEAD_DIM;
  const int end = causal ? min(seq, row0 + BLOCK_M) : seq; // no row of the block sees further
  const int steps = (end + BLOCK_N - 1) / BLOCK_N;
  q += head + (size_t)row0 * HEAD_DIM;
  k += head;
  v += head;

  const auto fetch_stage = [&](int step) {
    if (step < steps) {
      Stage &stage = shared.stage[step % NUM_STAGES];
      const size_t at = (size_t)step * BLOCK_N * HEAD_DIM;
      fetch<BLOCK_N>(stage.k, k + at, seq - step * BLOCK_N);
      fetch<BLOCK_N>(stage.v, v + at, seq - step * BLOCK_N);
    }
    commit_copies(); // an empty group too, so that counting groups is counting steps
  };

  fetch<BLOCK_M>(shared.q, q, seq - row0);
  commit_copies();
#pragma unroll
  for (int step = 0; step < NUM_STAGES - 1; step++) fetch_stage(step);

  wait_copies<NUM_STAGES - 1>();
  __syncthreads();
  unsigned queries[HEAD_DIM / 16][FRAGS_M][4];
  if (KEEP_Q) {
#pragma unroll
    for (int step = 0; step < HEAD_DIM / 16; step++) load_queries(queries[step], shared.q, step);
  }

  Rows rows;
#pragma unroll
  for (int m = 0; m < FRAGS_M; m++) {
#pragma unroll
    for (int r = 0; r < 2; r++) {
      rows.max[m][r] = -__int_as_float(0x7f800000);
      rows.sum[m][r] = 0;
    }
#pragma unroll
    for (int d = 0; d < HEAD_DIM / 8; d++) {
#pragma unroll
      for (int i = 0; i < 4; i++) rows.out[m][d][i] = 0;
    }
  }

  const float scale_log2 = scale * 1.4426950408889634f; // exp(x) = 2^(x log2 e), and the hardware knows 2^x
  for (int step = 0; step < steps; step++) {
    if (NUM_STAGES == 1) {
      __syncthreads(); // the last step is done with the only stage
      fetch_stage(step);
    }
    wait_copies<NUM_STAGES == 1 ? 0 : NUM_STAGES - 2>();
    __syncthreads();
    if (NUM_STAGES > 1) fetch_stage(step + NUM_STAGES - 1); // into the stage of the step before

    const Stage &stage = shared.stage[step % NUM_STAGES];
    float scores[FRAGS_M][BLOCK_N / 8][4];
    multiply_keys(scores, queries, shared.q, stage.k);
    const int col0 = step * BLOCK_N;
    if (col0 + BLOCK_N > (causal ? min(seq, warp_row0 + 1) : seq)) mask(scores, warp_row0, col0, seq, causal);
    weigh(scores, rows, scale_log2);
    add_values(rows, scores, stage.v);
  }
  finish(rows, shared.q, out + head + (size_t)row0 * HEAD_DIM, seq - row0);
}
