// Course work with a mask in constant memory and error macros; the block is a constant of the file.
// want convolve1d: grid 3907, block 256, in 1000000, out 1000000
// want convolve1d_tiled: grid 3907, block 256, in 1000000, out 1000000
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>
#define CUDA_TRY(call)                                                        \
    do {                                                                      \
        cudaError_t status = (call);                                          \
        if (status != cudaSuccess) {                                          \
            std::printf("%s at %d\n", cudaGetErrorString(status), __LINE__);  \
            return 1;                                                         \
        }                                                                     \
    } while (0)
#define MASK_WIDTH 7
constexpr int kBlock = 256;
__constant__ float mask[MASK_WIDTH];
__global__ void convolve1d(const float *in, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0.f;
    int start = i - MASK_WIDTH / 2;
    for (int j = 0; j < MASK_WIDTH; j++)
        if (start + j >= 0 && start + j < n) sum += in[start + j] * mask[j];
    out[i] = sum;
}
__global__ void convolve1d_tiled(const float *in, float *out, int n) {
    __shared__ float tile[kBlock + MASK_WIDTH - 1];
    const int radius = MASK_WIDTH / 2;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int left = i - kBlock;
    if (threadIdx.x >= kBlock - radius) tile[threadIdx.x - (kBlock - radius)] = left < 0 ? 0.f : in[left];
    tile[radius + threadIdx.x] = i < n ? in[i] : 0.f;
    int right = i + kBlock;
    if (threadIdx.x < radius) tile[radius + kBlock + threadIdx.x] = right >= n ? 0.f : in[right];
    __syncthreads();
    if (i < n) {
        float sum = 0.f;
        for (int j = 0; j < MASK_WIDTH; j++) sum += tile[threadIdx.x + j] * mask[j];
        out[i] = sum;
    }
}
int main() {
    const int n = 1000000;
    std::vector<float> host(n, 1.0f);
    float *d_in{}, *d_out{};
    CUDA_TRY(cudaMalloc(&d_in, n * sizeof(float)));
    CUDA_TRY(cudaMalloc(&d_out, host.size() * sizeof(float)));
    const auto blocks = (n - 1) / kBlock + 1;
    convolve1d<<<blocks, kBlock>>>(d_in, d_out, n);
    convolve1d_tiled<<<blocks, kBlock>>>(d_in, d_out, n);
    return 0;
}
