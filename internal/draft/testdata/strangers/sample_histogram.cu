// Bins by the value of bytes; atomics in shared memory, then in global memory.
// want histogram: grid 240, block 192, partial 61440, data 1048576
// want merge: grid 256, block 256, bins 256, partial 61440
#include <cuda_runtime.h>
typedef unsigned int uint;
#define BINS 256
__global__ void histogram(uint *partial, const unsigned char *data, uint count) {
    __shared__ uint local[BINS];
    for (uint i = threadIdx.x; i < BINS; i += blockDim.x) local[i] = 0;
    __syncthreads();
    for (uint pos = blockIdx.x * blockDim.x + threadIdx.x; pos < count; pos += blockDim.x * gridDim.x) atomicAdd(&local[data[pos]], 1);
    __syncthreads();
    for (uint bin = threadIdx.x; bin < BINS; bin += blockDim.x) partial[blockIdx.x * BINS + bin] = local[bin];
}
__global__ void merge(uint *bins, uint *partial, uint count) {
    uint sum = 0;
    for (uint i = threadIdx.x; i < count; i += blockDim.x) sum += partial[blockIdx.x + i * BINS];
    __shared__ uint data[256];
    data[threadIdx.x] = sum;
    for (uint stride = 256 / 2; stride > 0; stride >>= 1) {
        __syncthreads();
        if (threadIdx.x < stride) data[threadIdx.x] += data[threadIdx.x + stride];
    }
    if (threadIdx.x == 0) bins[blockIdx.x] = data[0];
}
static const uint PARTIALS = 240;
int main() {
    uint byteCount = 1 << 20;
    unsigned char *d_data;
    uint *d_bins, *d_partial;
    cudaMalloc((void **)&d_data, byteCount);
    cudaMalloc((void **)&d_bins, BINS * sizeof(uint));
    cudaMalloc((void **)&d_partial, PARTIALS * BINS * sizeof(uint));
    histogram<<<PARTIALS, 192>>>(d_partial, d_data, byteCount);
    merge<<<BINS, 256>>>(d_bins, d_partial, PARTIALS);
}
