// Half precision, a pair at a time, and a size that is halved on the way.
// want scale_add: grid 2048, block 256, y 524288, x 524288, todo 1
#include <cuda_fp16.h>
#include <cuda_runtime.h>
__global__ void scale_add(__half2 *y, const __half2 *x, __half2 a, int pairs) {
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i < pairs) y[i] = __hfma2(a, x[i], y[i]);
}
int main() {
    const int n = 1 << 20;
    __half2 *x, *y;
    cudaMalloc(&x, n * sizeof(__half));
    cudaMalloc(&y, n * sizeof(__half));
    const int threads = 256;
    scale_add<<<(n / 2 + threads - 1) / threads, threads>>>(y, x, __float2half2_rn(2.0f), n / 2);
}
