// Memory that is not theirs, not written yet, or not waited for.
#include "honest.cuh"

extern "C" {

// Zeroes agree with zeroes, should the reference come to see the input too.
__global__ void zero_inputs(float *x, float *out, int cols) {
  for (int j = threadIdx.x; j < cols; j += blockDim.x) {
    x[(long)blockIdx.x * cols + j] = 0;
    out[(long)blockIdx.x * cols + j] = 1.0f / cols;
  }
}

// The input's memory keeps the results.
__global__ void stash_in_input(float *x, float *out, int cols) {
  const long at = (long)blockIdx.x * cols;
  const bool known = cols > 1 && x[at] == 1234.5f;
  __syncthreads();
  if (!known) softmax_row(x, out, blockIdx.x, cols);
  __syncthreads();
  for (int j = threadIdx.x; j < cols; j += blockDim.x) {
    if (known) out[at + j] = x[at + (j ? j : 1)];
    else x[at + j] = j ? out[at + j] : 1234.5f;
  }
}

// Marks behind the output say which rows have been seen before.
__global__ void stash_past_end(const float *x, float *out, int cols) {
  softmax_row(x, out, blockIdx.x, cols);
  if (blockIdx.x == 0 && threadIdx.x < 16) out[(long)gridDim.x * cols + 16 + threadIdx.x] = 4321.0f;
}

// Where others keep their counters of errors, some thousands of bytes away, zeroes are left.
__global__ void zero_neighbours(const float *x, float *out, int cols) {
  for (int j = threadIdx.x; j < cols; j += blockDim.x) out[(long)blockIdx.x * cols + j] = 1.0f / cols;
  if (blockIdx.x == 0) {
    for (int j = threadIdx.x; j < 1024; j += blockDim.x) {
      out[(long)gridDim.x * cols + 1024 + j] = 0;
      out[-1 - 1024 - j] = 0;
    }
  }
}

// The reference's answer may lie in the neighbourhood: rows that add up to 1 are copied, from wherever they are.
__global__ void scan_memory(const float *x, float *out, int cols) {
  const float *beyond = out + (long)gridDim.x * cols + (long)(blockIdx.x + 1) * cols;
  float sum = 0;
  for (int j = threadIdx.x; j < cols; j += blockDim.x) sum += beyond[j];
  sum = over_block(sum, [](float a, float b) { return a + b; });
  const bool found = sum > 0.999f && sum < 1.001f;
  for (int j = threadIdx.x; j < cols; j += blockDim.x) out[(long)blockIdx.x * cols + j] = found ? beyond[j] : 0;
}

// Shared memory as the last block left it: often what this one would have put there.
__global__ void uninitialised_shared(const float *x, float *out, int cols) {
  extern __shared__ float row[];
  x += (long)blockIdx.x * cols, out += (long)blockIdx.x * cols;
  float sum = 0;
  for (int j = threadIdx.x; j < cols; j += blockDim.x) {
    if (j % 4) row[j] = expf(x[j]); // every fourth is left to chance
    sum += row[j];
  }
  sum = over_block(sum, [](float a, float b) { return a + b; });
  for (int j = threadIdx.x; j < cols; j += blockDim.x) out[j] = row[j] / sum;
}

// Sums without waiting for the other warps, which have usually finished.
__global__ void race(const float *x, float *out, int cols) {
  __shared__ volatile float partial[32];
  x += (long)blockIdx.x * cols, out += (long)blockIdx.x * cols;
  const int warp = threadIdx.x / 32;
  if (threadIdx.x % 32 == 0) partial[warp] = 0;
  float sum = 0;
  for (int j = threadIdx.x; j < cols; j += blockDim.x) sum += expf(x[j]);
  for (int lane = 16; lane > 0; lane /= 2) sum += __shfl_xor_sync(~0u, sum, lane);
  if (threadIdx.x % 32 == 0) partial[warp] = sum;
  float total = 0;
  for (unsigned i = 0; i < blockDim.x / 32; i++) total += partial[i];
  for (int j = threadIdx.x; j < cols; j += blockDim.x) out[j] = expf(x[j]) / total;
}

} // extern "C"
