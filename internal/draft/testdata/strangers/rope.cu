// A rotation in place of pairs; dimensions in three axes.
// want rope: grid 1024x8, block 12x32, x 6291456, freqs 65536
#include <cuda_runtime.h>
#include "common.h"
__global__ void rope(float *x, const float2 *freqs, int T, int NH, int HS) {
    int b = blockIdx.y;
    int t = blockIdx.x;
    int h = threadIdx.x;
    int i = threadIdx.y;
    if (i < HS / 2 && h < NH) {
        float2 f = freqs[t * (HS / 2) + i];
        float *head = x + ((b * T + t) * NH + h) * HS;
        float re = head[2 * i], im = head[2 * i + 1];
        head[2 * i] = re * f.x - im * f.y;
        head[2 * i + 1] = re * f.y + im * f.x;
    }
}
int main() {
    const int B = 8, T = 1024, NH = 12, HS = 64;
    float *d_x;
    float2 *d_freqs;
    cudaCheck(cudaMalloc(&d_x, sizeof(float) * B * T * NH * HS));
    cudaCheck(cudaMalloc(&d_freqs, sizeof(float2) * T * HS / 2));
    dim3 grid(T, B);
    dim3 block;
    block.x = NH;
    block.y = HS / 2;
    rope<<<grid, block>>>(d_x, d_freqs, T, NH, HS);
}
