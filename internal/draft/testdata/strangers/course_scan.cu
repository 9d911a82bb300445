// A scan of one block's section; macros of the file, arguments by value.
// want scanSection: grid 16, block 1024, X 16384, Y 16384
#include <cuda_runtime.h>
#define SECTION_SIZE 1024
__global__ void scanSection(float *X, float *Y, unsigned int N) {
    __shared__ float XY[SECTION_SIZE];
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) XY[threadIdx.x] = X[i];
    else XY[threadIdx.x] = 0.0f;
    for (unsigned int stride = 1; stride < blockDim.x; stride *= 2) {
        __syncthreads();
        float temp = 0;
        if (threadIdx.x >= stride) temp = XY[threadIdx.x] + XY[threadIdx.x - stride];
        __syncthreads();
        if (threadIdx.x >= stride) XY[threadIdx.x] = temp;
    }
    if (i < N) Y[i] = XY[threadIdx.x];
}
int main() {
    const unsigned int N = 16 * SECTION_SIZE;
    float *X_d, *Y_d;
    cudaMalloc(&X_d, N * sizeof(float));
    cudaMalloc(&Y_d, N * sizeof(float));
    scanSection<<<(N + SECTION_SIZE - 1) / SECTION_SIZE, SECTION_SIZE>>>(X_d, Y_d, N);
}
