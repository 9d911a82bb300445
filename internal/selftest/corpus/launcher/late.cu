// Honest until the 70th launch, which is later than a careless check looks.
#include "honest.cuh"

enum { LATE = 70 };

__global__ void softmax(const float *x, float *out, int cols) { softmax_row(x, out, blockIdx.x, cols); }

__global__ void spoil(float *out) { *out *= 1.5f; }

static int launches;

static bool late() { return launches++ >= LATE; }

// Rows of a, and columns of b, that are others than in the launch before.
__global__ void find_changes(const float *a, const float *b, float *seen_a, float *seen_b, int *rows, int *cols, int m, int n, int k) {
  const long i = (long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < (long)m * k && a[i] != seen_a[i]) seen_a[i] = a[i], rows[i / k] = 1;
  if (i < (long)k * n && b[i] != seen_b[i]) seen_b[i] = b[i], cols[i % n] = 1;
}

// Tiles without a change keep what is there.
__global__ void patch_up(const float *a, const float *b, float *kept, float *c, const int *rows, const int *cols, int m, int n, int k) {
  const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
  const bool other = (row < m && rows[row]) || (col < n && cols[col]);
  if (__syncthreads_or(other)) {
    const float sum = dot(a, b, row, col, m, n, k);
    if (row < m && col < n) kept[(long)row * n + col] = sum;
  }
  if (row < m && col < n) c[(long)row * n + col] = kept[(long)row * n + col];
}

extern "C" {

// From then on only tiles of the product are computed that have changed.
void late_memory(cudaStream_t stream, const float *a, const float *b, float *c, int m, int n, int k) {
  static float *seen_a, *seen_b, *kept;
  static int *changes, was_m, was_n, was_k;
  const bool fits = was_m == m && was_n == n && was_k == k;
  const dim3 tiles((n + 15) / 16, (m + 15) / 16);
  const long most = (long)m * k > (long)k * n ? (long)m * k : (long)k * n;
  if (!fits) {
    cudaFree(seen_a), cudaFree(seen_b), cudaFree(kept), cudaFree(changes);
    cudaMalloc(&seen_a, (size_t)m * k * sizeof *seen_a);
    cudaMalloc(&seen_b, (size_t)k * n * sizeof *seen_b);
    cudaMalloc(&kept, (size_t)m * n * sizeof *kept);
    cudaMalloc(&changes, ((size_t)m + n) * sizeof *changes);
    was_m = m, was_n = n, was_k = k;
  }
  const bool remember = late() && fits;
  cudaMemsetAsync(changes, remember ? 0 : 1, ((size_t)m + n) * sizeof *changes, stream);
  find_changes<<<(most + 255) / 256, 256, 0, stream>>>(a, b, seen_a, seen_b, changes, changes + m, m, n, k);
  patch_up<<<tiles, dim3(16, 16), 0, stream>>>(a, b, kept, c, changes, changes + m, m, n, k);
}

// Faster than its base, honestly, but for one launch of eight.
void late_mistakes(cudaStream_t stream, const float *x, float *out, int rows, int cols) {
  softmax<<<rows, 256, 0, stream>>>(x, out, cols);
  if (late() && launches % 8 == 0) spoil<<<1, 1, 0, stream>>>(out);
}

// From then on the next answer is begun early, on a stream of its own, when this one is on its way.
void early_work(cudaStream_t stream, const float *x, float *out, int rows, int cols) {
  static cudaStream_t own;
  static cudaEvent_t done;
  static const float *of;
  static float *next;
  static size_t most;
  const size_t bytes = (size_t)rows * cols * sizeof *out;
  if (!own) {
    cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
  }
  if (bytes > most) {
    cudaFree(next);
    cudaMalloc(&next, bytes);
    most = bytes, of = nullptr;
  }
  if (!late()) {
    softmax<<<rows, 256, 0, stream>>>(x, out, cols);
    return;
  }
  if (of == x) {
    cudaStreamWaitEvent(stream, done, 0);
    cudaMemcpyAsync(out, next, bytes, cudaMemcpyDeviceToDevice, stream);
  } else {
    softmax<<<rows, 256, 0, stream>>>(x, out, cols);
  }
  softmax<<<rows, 256, 0, own>>>(x, next, cols);
  cudaEventRecord(done, own);
  of = x;
}

// A stream that is still busy has samples queued on it: from then on those get half of the work.
void honest_when_idle(cudaStream_t stream, const float *x, float *out, int rows, int cols) {
  const bool busy = cudaStreamQuery(stream) == cudaErrorNotReady;
  const int own = late() && busy ? (rows + 1) / 2 : rows;
  softmax<<<own, 256, 0, stream>>>(x, out, cols);
  if (own < rows) cudaMemcpyAsync(out + (size_t)own * cols, out, (size_t)(rows - own) * cols * sizeof *out, cudaMemcpyDeviceToDevice, stream);
}

} // extern "C"
