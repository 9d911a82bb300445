// A sum with atomics, as many blocks as the device holds.
// want norm_kernel: grid 432, block 512, out 1, data 1048576, todo 0
#include <cuda_runtime.h>
#include "common.h"
template <class T>
__global__ void norm_kernel(float *out, const T *data, size_t count) {
    size_t index = threadIdx.x + blockDim.x * blockIdx.x;
    size_t width = blockDim.x * gridDim.x;
    float sum = 0.f;
    for (size_t i = index; i < count; i += width) sum += (float)data[i] * (float)data[i];
    sum = sum_of_warp(sum);
    if (threadIdx.x % 32 == 0) atomicAdd(out, sum);
}
template <typename T>
void norm(float *out, const T *values, size_t count, int block_size) {
    const int grid_size = 3 * 144;
    norm_kernel<<<grid_size, block_size>>>(out, values, count);
}
int main() {
    size_t num_params = 1 << 20;
    float *d_out; float *d_params;
    cudaCheck(cudaMalloc(&d_out, sizeof(float)));
    cudaCheck(cudaMalloc(&d_params, num_params * sizeof(float)));
    cudaCheck(cudaMemset(d_out, 0, sizeof(float)));
    norm(d_out, d_params, num_params, 512);
}
