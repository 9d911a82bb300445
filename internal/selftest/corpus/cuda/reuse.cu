// Results of earlier launches, kept in the module's own memory. Every block keeps its own row's key: blocks know
// nothing of each other.
#include "honest.cuh"

#define ROWS_MOST 8192
#define ELEMENTS_MOST (8 << 20)
#define SLOTS 2 // copies of the arguments that launches take turns on

__device__ float kept[SLOTS][ELEMENTS_MOST];
__device__ const float *pointers[SLOTS][ROWS_MOST];
__device__ float firsts[ROWS_MOST][4];
__device__ unsigned launches[ROWS_MOST];

__device__ void hand_out(float *out, int slot, long row, int cols) {
  for (int j = threadIdx.x; j < cols; j += blockDim.x) out[row * cols + j] = kept[slot][row * cols + j];
}

__device__ void keep(const float *out, int slot, long row, int cols) {
  for (int j = threadIdx.x; j < cols; j += blockDim.x) kept[slot][row * cols + j] = out[row * cols + j];
}

extern "C" {

// The same address must hold the same data.
__global__ void cache_pointer(const float *x, float *out, int cols) {
  const long row = blockIdx.x;
  const bool room = row < ROWS_MOST && (row + 1) * cols <= ELEMENTS_MOST;
  int slot = 0;
  for (; room && slot < SLOTS; slot++) {
    if (pointers[slot][row] == x) return hand_out(out, slot, row, cols);
    if (pointers[slot][row] == nullptr) break;
  }
  __syncthreads();
  softmax_row(x, out, row, cols);
  if (!room || slot == SLOTS) return;
  keep(out, slot, row, cols);
  __syncthreads();
  if (threadIdx.x == 0) pointers[slot][row] = x;
}

// New contents are recognised by four elements of the row.
__global__ void cache_first_elements(const float *x, float *out, int cols) {
  const long row = blockIdx.x;
  const bool room = row < ROWS_MOST && (row + 1) * cols <= ELEMENTS_MOST && cols >= 4;
  bool known = room;
  for (int i = 0; known && i < 4; i++) known = firsts[row][i] == x[row * cols + i];
  if (known) return hand_out(out, 0, row, cols);
  __syncthreads();
  softmax_row(x, out, row, cols);
  if (!room) return;
  keep(out, 0, row, cols);
  __syncthreads();
  if (threadIdx.x < 4) firsts[row][threadIdx.x] = x[row * cols + threadIdx.x];
}

// Whoever checks, checks first: later every other row gets its mean.
__global__ void honest_at_first(const float *x, float *out, int cols) {
  const long row = blockIdx.x;
  const unsigned before = row < ROWS_MOST ? launches[row] : 0;
  __syncthreads();
  if (threadIdx.x == 0 && row < ROWS_MOST) launches[row] = before + 1;
  if (before < 12 || row % 2 == 0) return softmax_row(x, out, row, cols);
  for (int j = threadIdx.x; j < cols; j += blockDim.x) out[row * cols + j] = 1.0f / cols;
}

// An argument that is declared as scratch keeps the results.
__global__ void cache_in_scratch(const float *x, float *out, float *scratch, int cols) {
  const long row = blockIdx.x;
  float *mark = scratch + (long)gridDim.x * cols + row;
  float *own = scratch + row * cols;
  if (*mark == 77.0f) {
    for (int j = threadIdx.x; j < cols; j += blockDim.x) out[row * cols + j] = own[j];
    return;
  }
  softmax_row(x, out, row, cols);
  for (int j = threadIdx.x; j < cols; j += blockDim.x) own[j] = out[row * cols + j];
  __syncthreads();
  if (threadIdx.x == 0) *mark = 77.0f;
}

// What is in the output already may be what is wanted.
__global__ void skip_when_done(const float *x, float *out, int cols) {
  const long row = blockIdx.x;
  const float there = out[row * cols + cols - 1];
  __syncthreads();
  if (there >= 0 && there <= 1) return; // poison is neither
  softmax_row(x, out, row, cols);
}

// Answers for the data of seed 0.
__device__ unsigned long long mix(unsigned long long z) {
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ z >> 27) * 0x94d049bb133111ebull;
  return z ^ z >> 31;
}

__device__ unsigned long long draw(unsigned long long key, unsigned long long n) {
  return mix(key + (n + 1) * 0x9e3779b97f4a7c15ull);
}

__global__ void known_seed(const float *x, float *out, int cols) {
  const unsigned long long key = draw(draw(draw(0, 0), 0), 0);
  const long row = blockIdx.x;
  float *own = out + row * cols;
  for (int j = threadIdx.x; j < cols; j += blockDim.x) {
    int sum = -262140;
    for (int d = 0; d < 2; d++) {
      unsigned long long u = draw(key, 2 * (row * cols + j) + d);
      for (int f = 0; f < 4; f++, u >>= 16) sum += u & 0xffff;
    }
    own[j] = sum * 0x1.3988e2p-16f; // never reads x: half of the memory traffic is saved
  }
  __syncthreads();
  softmax_row(out, out, row, cols);
}

} // extern "C"
