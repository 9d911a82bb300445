// A library without a main: two levels of a scan, vectors of four, a buffer that another function makes.
// want scanShared: grid 1024, block 256, d_Dst 262144, d_Src 262144, todo 1
// want addBlocks: grid 1024, block 256, d_Data 262144, d_Buffer 1024, todo 1
#include <assert.h>
#include <cuda_runtime.h>
#define THREADS 256
typedef unsigned int uint;
static uint *d_Buf;
__device__ uint4 scan4(uint4 v, volatile uint *s, uint size) {
    v.y += v.x; v.z += v.y; v.w += v.z;
    uint pos = threadIdx.x;
    s[pos] = v.w;
    for (uint offset = 1; offset < size; offset <<= 1) {
        __syncthreads();
        uint t = pos >= offset ? s[pos] + s[pos - offset] : s[pos];
        __syncthreads();
        s[pos] = t;
    }
    uint before = s[pos] - v.w;
    v.x += before; v.y += before; v.z += before; v.w += before;
    return v;
}
__global__ void scanShared(uint4 *d_Dst, uint4 *d_Src, uint size) {
    __shared__ uint s_Data[2 * THREADS];
    uint pos = blockIdx.x * blockDim.x + threadIdx.x;
    uint4 idata4 = d_Src[pos];
    uint4 odata4 = scan4(idata4, s_Data, size / 4);
    d_Dst[pos] = odata4;
}
__global__ void addBlocks(uint4 *d_Data, uint *d_Buffer) {
    __shared__ uint buf;
    uint pos = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) buf = d_Buffer[blockIdx.x];
    __syncthreads();
    uint4 data4 = d_Data[pos];
    data4.x += buf; data4.y += buf; data4.z += buf; data4.w += buf;
    d_Data[pos] = data4;
}
extern "C" size_t scanLarge(uint *d_Dst, uint *d_Src, uint batchSize, uint arrayLength) {
    assert(arrayLength % 4 == 0);
    assert((batchSize * arrayLength) % (4 * THREADS) == 0);
    scanShared<<<(batchSize * arrayLength) / (4 * THREADS), THREADS>>>((uint4 *)d_Dst, (uint4 *)d_Src, 4 * THREADS);
    addBlocks<<<(batchSize * arrayLength) / (4 * THREADS), THREADS>>>((uint4 *)d_Dst, (uint *)d_Buf);
    return THREADS;
}
