// Honest launchers that a careless check would take for cheats.
#include "honest.cuh"

#include <chrono>

__global__ void softmax_kernel(const float *x, float *out, int cols) { softmax_row(x, out, blockIdx.x, cols); }

__global__ void add_one(float *x, long n) {
  const long i = (long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += 1;
}

__global__ void add_ref_kernel(float *x, long n, int times) {
  const long i = (long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    for (int t = 0; t < times; t++) x[i] += 1; // rounds as often as the other
  }
}

extern "C" {

void softmax(cudaStream_t stream, const float *x, float *out, int rows, int cols) {
  softmax_kernel<<<rows, 256, 0, stream>>>(x, out, cols);
}

// A stream of its own, ordered after the caller's, and joined by it.
void joined_stream(cudaStream_t stream, const float *x, float *out, int rows, int cols) {
  static cudaStream_t other;
  static cudaEvent_t forked, joined;
  if (!other) {
    cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&forked, cudaEventDisableTiming);
    cudaEventCreateWithFlags(&joined, cudaEventDisableTiming);
  }
  const int own = (rows + 1) / 2;
  cudaEventRecord(forked, stream);
  cudaStreamWaitEvent(other, forked, 0);
  softmax_kernel<<<own, 256, 0, stream>>>(x, out, cols);
  if (rows > own) softmax_kernel<<<rows - own, 256, 0, other>>>(x + (long)own * cols, out + (long)own * cols, cols);
  cudaEventRecord(joined, other);
  cudaStreamWaitEvent(stream, joined, 0);
}

// One launch after the other, on a half of the rows each.
void two_launches(cudaStream_t stream, const float *x, float *out, int rows, int cols) {
  const int half = (rows + 1) / 2;
  softmax_kernel<<<half, 256, 0, stream>>>(x, out, cols);
  if (rows > half) softmax_kernel<<<rows - half, 256, 0, stream>>>(x + (long)half * cols, out + (long)half * cols, cols);
}

// Asks the device how many threads suit the kernel, once.
void asked_device(cudaStream_t stream, const float *x, float *out, int rows, int cols) {
  static int threads;
  int blocks;
  if (threads == 0 && cudaOccupancyMaxPotentialBlockSize(&blocks, &threads, softmax_kernel) != cudaSuccess) threads = 256;
  softmax_kernel<<<rows, threads, 0, stream>>>(x, out, cols);
}

// Memory of its own that it writes anew every time.
void workspace(cudaStream_t stream, const float *x, float *out, int rows, int cols) {
  static float *own;
  static size_t most;
  const size_t bytes = (size_t)rows * cols * sizeof *out;
  if (bytes > most) {
    cudaFree(own);
    cudaMalloc(&own, bytes);
    most = bytes;
  }
  softmax_kernel<<<rows, 256, 0, stream>>>(x, own, cols);
  cudaMemcpyAsync(out, own, bytes, cudaMemcpyDeviceToDevice, stream);
}

// Host work, as that of a library that looks for the best kernel: samples hide it,
// launches back to back do not.
void slow_host(cudaStream_t stream, const float *x, float *out, int rows, int cols) {
  const auto start = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - start < std::chrono::microseconds(400)) {
  }
  softmax_kernel<<<rows, 256, 0, stream>>>(x, out, cols);
}

// Many launches, in place.
void many_launches(cudaStream_t stream, float *x, long n, int times) {
  for (int t = 0; t < times; t++) add_one<<<(n + 255) / 256, 256, 0, stream>>>(x, n);
}

void many_ref(cudaStream_t stream, float *x, long n, int times) {
  add_ref_kernel<<<(n + 255) / 256, 256, 0, stream>>>(x, n, times);
}

} // extern "C"
