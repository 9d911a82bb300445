// Device code that launches: what it starts may run on when its own launch is over.
#include "honest.cuh"

extern "C" {

__global__ void later(const float *x, float *out, int cols) { softmax_row(x, out, blockIdx.x, cols); }

__global__ void device_launch(const float *x, float *out, int rows, int cols) {
  if (blockIdx.x == 0 && threadIdx.x == 0) later<<<rows, 256, 0, cudaStreamFireAndForget>>>(x, out, cols);
}

} // extern "C"
