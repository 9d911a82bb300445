// Host code that is given a stream.
#include <cuda_runtime.h>

__global__ void scale(const float *x, float *y, long n) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2 * x[i];
}

__global__ void busy(float *y, long rounds) {
    float v = y[0];
    for (long i = 0; i < rounds; i++) v = v * 0.5f + 1;
    y[1] = v;
}

extern "C" void launch(cudaStream_t stream, const float *x, float *y, long n) { scale<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n); }

extern "C" void launch_nothing(cudaStream_t stream, const float *x, float *y, long n) {}

extern "C" void launch_elsewhere(cudaStream_t stream, const float *x, float *y, long n) {
    static cudaStream_t other;
    if (!other) cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
    scale<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
    busy<<<1, 1, 0, other>>>(y, 200000);
}
