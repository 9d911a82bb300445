// c = a b, [m, k] times [k, n]: f16 matrices stored by rows, summed in f32.
//
// A block computes a BLOCK_M×BLOCK_N tile of c, cut into one piece per warp, and walks along k in steps of BLOCK_K.
// NUM_STAGES steps are in shared memory at a time; all but the one in use are being fetched.
#include "mma.cuh"

#ifndef BLOCK_M
#define BLOCK_M 64
#endif
#ifndef BLOCK_N
#define BLOCK_N 64
#endif
#ifndef BLOCK_K
#define BLOCK_K 32
#endif
#ifndef NUM_WARPS
#define NUM_WARPS 4
#endif
#ifndef NUM_STAGES
#define NUM_STAGES 2
#endif

constexpr int THREADS = 32 * NUM_WARPS;
constexpr int WARPS_M = 2, WARPS_N = NUM_WARPS / WARPS_M; // how the tile is cut
constexpr int WARP_M = BLOCK_M / WARPS_M, WARP_N = BLOCK_N / WARPS_N;
constexpr int FRAGS_M = WARP_M / 16, FRAGS_N = WARP_N / 8;

static_assert(BLOCK_M % (16 * WARPS_M) == 0, "every warp needs a multiple of 16 rows");
static_assert(BLOCK_N % (16 * WARPS_N) == 0, "every warp needs a multiple of 16 columns");
static_assert(NUM_STAGES >= 2, "one stage is fetched while another is in use");

struct Stage {
  half a[BLOCK_M * BLOCK_K], b[BLOCK_K * BLOCK_N];
};

// All of the dynamic shared memory: NUM_STAGES * (BLOCK_M + BLOCK_N) * BLOCK_K * 2 bytes.
struct Shared {
  Stage stage[NUM_STAGES];
};

// Starts to copy a tile of which `rows` rows and `cols` columns lie inside the matrix; the rest becomes zeros. Where
// rows do not start at multiples of 16 bytes, elements are copied one by one, and at once.
template <int ROWS, int COLS>
__device__ inline void fetch(half *tile, const half *from, int rows, int cols, int stride, bool aligned) {
  constexpr int CHUNKS = COLS / 8, PASS = THREADS / CHUNKS; // rows that all threads copy together
  static_assert(ROWS % PASS == 0, "threads share the rows evenly");
  const int first = threadIdx.x / CHUNKS, chunk = threadIdx.x % CHUNKS;
  from += (size_t)first * stride + chunk * 8;
  if (aligned) {
#pragma unroll
    for (int i = 0; i < ROWS; i += PASS) {
      const bool inside = first + i < rows && chunk * 8 < cols;
      copy_async(shared_address(tile) + chunk_at<COLS>(first + i, chunk), from + (size_t)i * stride, inside);
    }
    return;
  }
#pragma unroll 1
  for (int i = 0; i < ROWS; i += PASS) {
    half *const to = tile + chunk_at<COLS>(first + i, chunk) / sizeof(half);
    for (int j = 0; j < 8; j++) {
      const bool inside = first + i < rows && chunk * 8 + j < cols;
      to[j] = inside ? from[(size_t)i * stride + j] : __float2half(0);
    }
  }
}

// Multiplies one stage into the sums of a warp.
__device__ inline void multiply(float (&sums)[FRAGS_M][FRAGS_N][4], const Stage &stage, int row0, int col0) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int k = 0; k < BLOCK_K / 16; k++) {
    unsigned a[FRAGS_M][4], b[FRAGS_N / 2][4];
#pragma unroll
    for (int m = 0; m < FRAGS_M; m++) {
      load_matrices(a[m], shared_address(stage.a) + chunk_at<BLOCK_K>(row0 + m * 16 + lane % 16, k * 2 + lane / 16));
    }
#pragma unroll
    for (int n = 0; n < FRAGS_N / 2; n++) {
      const int chunk = col0 / 8 + n * 2 + lane / 16;
      load_matrices_transposed(b[n], shared_address(stage.b) + chunk_at<BLOCK_N>(k * 16 + lane % 16, chunk));
    }
#pragma unroll
    for (int m = 0; m < FRAGS_M; m++) {
#pragma unroll
      for (int n = 0; n < FRAGS_N; n++) mma<half>(sums[m][n], a[m], b[n / 2][n % 2 * 2], b[n / 2][n % 2 * 2 + 1]);
    }
  }
}

__device__ inline void store(half *c, int row, int col, int m, int n, float left, float right) {
  if (row >= m || col >= n) return;
  half *const to = c + (size_t)row * n + col;
  if (n % 2 == 0) {
    *(unsigned *)to = pack<half>(left, right);
    return;
  }
  to[0] = __float2half(left);
  if (col + 1 < n) to[1] = __float2half(right);
}

extern "C" __global__ void __launch_bounds__(THREADS)
    gemm(const half *__restrict__ a, const half *__restrict__ b, half *__restrict__ c, int m, int n, int k) {
  extern __shared__ __align__(128) char memory[];
  Shared &shared = *(Shared *)memory;

  // Blocks that run at the same time should share rows of a and columns of b in the L2 cache, so tiles are visited in
  // bands: GROUP tiles down, then one to the right.
  constexpr int GROUP = 8;
  const int tiles_m = (m + BLOCK_M - 1) / BLOCK_M, tiles_n = (n + BLOCK_N - 1) / BLOCK_N;
  const int band = blockIdx.x / (GROUP * tiles_n), place = blockIdx.x % (GROUP * tiles_n);
  const int height = min(GROUP, tiles_m - band * GROUP);
  const int block_row = (band * GROUP + place % height) * BLOCK_M, block_col = place / height * BLOCK_N;

  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int row0 = warp % WARPS_M * WARP_M, col0 = warp / WARPS_M * WARP_N;
  const bool aligned = k % 8 == 0 && n % 8 == 0;
  const int steps = (k + BLOCK_K - 1) / BLOCK_K;
  a += (size_t)block_row * k;
  b += block_col;

  const auto fetch_stage = [&](int step) {
    if (step < steps) {
      Stage &stage = shared.stage[step % NUM_STAGES];
      const int k0 = step * BLOCK_K;
      fetch<BLOCK_M, BLOCK_K>(stage.a, a + k0, m - block_row, k - k0, k, aligned);
      fetch<BLOCK_K, BLOCK_N>(stage.b, b + (size_t)k0 * n, k - k0, n - block_col, n, aligned);
    }
    commit_copies(); // an empty group too, so that counting groups is counting steps
  };

  float sums[FRAGS_M][FRAGS_N][4] = {};
#pragma unroll
  for (int step = 0; step < NUM_STAGES - 1; step++) fetch_stage(step);
  for (int step = 0; step < steps; step++) {
    wait_copies<NUM_STAGES - 2>();
    __syncthreads();
    fetch_stage(step + NUM_STAGES - 1); // into the stage of the step before
    multiply(sums, shared.stage[step % NUM_STAGES], row0, col0);
  }

#pragma unroll
  for (int i = 0; i < FRAGS_M; i++) {
#pragma unroll
    for (int j = 0; j < FRAGS_N; j++) {
      const int row = block_row + row0 + i * 16 + lane / 4, col = block_col + col0 + j * 8 + lane % 4 * 2;
      store(c, row, col, m, n, sums[i][j][0], sums[i][j][1]);
      store(c, row + 8, col, m, n, sums[i][j][2], sums[i][j][3]);
    }
  }
}
