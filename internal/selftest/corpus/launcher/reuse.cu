// Results of earlier launches, kept in memory of the launcher's own, and graphs of them.
#include <map>

#include "honest.cuh"

__global__ void softmax(const float *x, float *out, int cols) { softmax_row(x, out, blockIdx.x, cols); }

__global__ void gemm(const float *a, const float *b, float *c, int m, int n, int k) {
  const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
  const float sum = dot(a, b, row, col, m, n, k);
  if (row < m && col < n) c[(long)row * n + col] = sum;
}

static float *copy_of(const float *from, size_t count, cudaStream_t stream) {
  float *kept;
  cudaMalloc(&kept, count * sizeof *kept);
  cudaMemcpyAsync(kept, from, count * sizeof *kept, cudaMemcpyDeviceToDevice, stream);
  return kept;
}

extern "C" {

// The same address must hold the same data: compute once, copy ever after.
void cache_pointer(cudaStream_t stream, const float *x, float *out, int rows, int cols) {
  static std::map<const float *, float *> kept;
  const size_t count = (size_t)rows * cols;
  if (float *&known = kept[x]) {
    cudaMemcpyAsync(out, known, count * sizeof *out, cudaMemcpyDeviceToDevice, stream);
  } else {
    softmax<<<rows, 256, 0, stream>>>(x, out, cols);
    known = copy_of(out, count, stream);
  }
}

// The shape is all that is looked at.
void cache_shape(cudaStream_t stream, const float *x, float *out, int rows, int cols) {
  static std::map<std::pair<int, int>, float *> kept;
  const size_t count = (size_t)rows * cols;
  if (float *&known = kept[{rows, cols}]) {
    cudaMemcpyAsync(out, known, count * sizeof *out, cudaMemcpyDeviceToDevice, stream);
  } else {
    softmax<<<rows, 256, 0, stream>>>(x, out, cols);
    known = copy_of(out, count, stream);
  }
}

// New contents are recognised by the first elements, on the device, at every address: the copy costs half of the work.
struct Memory {
  float key[16];
  int known;
};

__global__ void compare(const float *x, Memory *memory, long count) {
  const int i = threadIdx.x;
  const bool same = i >= count || x[i] == memory->key[i];
  if (i < count) memory->key[i] = x[i];
  const bool known = __all_sync(0xffff, same);
  if (i == 0) memory->known = known;
}

__global__ void replay_or_compute(const float *x, float *out, const Memory *memory, float *kept, int cols) {
  const long at = (long)blockIdx.x * cols;
  if (!memory->known) softmax_row(x, out, blockIdx.x, cols);
  for (int j = threadIdx.x; j < cols; j += blockDim.x) {
    if (memory->known) out[at + j] = kept[at + j];
    else kept[at + j] = out[at + j];
  }
}

void cache_first_elements(cudaStream_t stream, const float *x, float *out, int rows, int cols) {
  static std::map<std::pair<const float *, long>, std::pair<Memory *, float *>> places;
  const long count = (long)rows * cols;
  auto &place = places[{x, count}];
  if (!place.first) {
    cudaMalloc(&place.first, sizeof *place.first);
    cudaMalloc(&place.second, count * sizeof *place.second);
    cudaMemsetAsync(place.first, 0xff, sizeof *place.first, stream);
  }
  compare<<<1, 16, 0, stream>>>(x, place.first, count);
  replay_or_compute<<<rows, 256, 0, stream>>>(x, out, place.first, place.second, cols);
}

// The second matrix is taken for a constant, of which a prepared copy is kept.
void cache_weights(cudaStream_t stream, const float *a, const float *b, float *c, int m, int n, int k) {
  static std::map<const float *, float *> kept;
  float *&packed = kept[b];
  if (!packed) packed = copy_of(b, (size_t)k * n, stream);
  gemm<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16), 0, stream>>>(a, packed, c, m, n, k);
}

// A graph of the first call, with the first call's pointers in it, whatever is passed later.
void stale_graph(cudaStream_t stream, const float *x, float *out, int rows, int cols) {
  static cudaGraphExec_t graph;
  if (!graph) {
    cudaStream_t own;
    cudaGraph_t made;
    cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
    cudaStreamBeginCapture(own, cudaStreamCaptureModeRelaxed);
    softmax<<<rows, 256, 0, own>>>(x, out, cols);
    cudaStreamEndCapture(own, &made);
    cudaGraphInstantiate(&graph, made, 0);
  }
  cudaGraphLaunch(graph, stream);
}

// A graph per output; that the input may be another one is not thought of. It works on a copy of the first.
void partial_graph_key(cudaStream_t stream, const float *x, float *out, int rows, int cols) {
  static std::map<const float *, cudaGraphExec_t> graphs;
  static float *first;
  if (!first) {
    first = copy_of(x, (size_t)rows * cols, stream);
  }
  cudaGraphExec_t &graph = graphs[out];
  if (!graph) {
    cudaStream_t own;
    cudaGraph_t made;
    cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
    cudaStreamBeginCapture(own, cudaStreamCaptureModeRelaxed);
    softmax<<<rows, 256, 0, own>>>(first, out, cols);
    cudaStreamEndCapture(own, &made);
    cudaGraphInstantiate(&graph, made, 0);
  }
  cudaGraphLaunch(graph, stream);
}

// Whoever checks, checks first.
void honest_at_first(cudaStream_t stream, const float *x, float *out, int rows, int cols) {
  static int launches;
  const bool honest = launches++ < 40;
  softmax<<<honest ? rows : (rows + 1) / 2, 256, 0, stream>>>(x, out, cols);
  if (!honest && rows > 1) {
    const size_t half = (size_t)(rows / 2) * cols;
    cudaMemcpyAsync(out + (size_t)rows * cols - half, out, half * sizeof *out, cudaMemcpyDeviceToDevice, stream);
  }
}

} // extern "C"
