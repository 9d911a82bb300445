// Templates over type and block, launched from a switch; two elements a thread.
// want reduceBlocks: grid 32768, block 256, shared 1024, g_idata 16777216, g_odata 32768
#include <cuda_runtime.h>
template <class T, unsigned int blockSize>
__global__ void reduceBlocks(T *g_idata, T *g_odata, unsigned int n) {
    extern __shared__ float sdata[];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * (blockSize * 2) + threadIdx.x;
    T mySum = (i < n) ? g_idata[i] : 0;
    if (i + blockSize < n) mySum += g_idata[i + blockSize];
    sdata[tid] = mySum;
    __syncthreads();
    for (unsigned int s = blockSize / 2; s > 0; s >>= 1) {
        if (tid < s) sdata[tid] = mySum = mySum + sdata[tid + s];
        __syncthreads();
    }
    if (tid == 0) g_odata[blockIdx.x] = mySum;
}
template <class T>
void reduce(int size, int threads, int blocks, T *d_idata, T *d_odata) {
    dim3 dimBlock(threads, 1, 1);
    dim3 dimGrid(blocks, 1, 1);
    int smemSize = (threads <= 32) ? 2 * threads * sizeof(T) : threads * sizeof(T);
    switch (threads) {
        case 256:
            reduceBlocks<T, 256><<<dimGrid, dimBlock, smemSize>>>(d_idata, d_odata, size);
            break;
        case 128:
            reduceBlocks<T, 128><<<dimGrid, dimBlock, smemSize>>>(d_idata, d_odata, size);
            break;
    }
}
int main() {
    int size = 1 << 24;
    int maxThreads = 256;
    int blocks = (size + (maxThreads * 2 - 1)) / (maxThreads * 2);
    float *d_idata = NULL;
    float *d_odata = NULL;
    cudaMalloc((void **)&d_idata, size * sizeof(float));
    cudaMalloc((void **)&d_odata, blocks * sizeof(float));
    reduce<float>(size, maxThreads, blocks, d_idata, d_odata);
}
