// Half precision behind a conditional typedef, and packs of elements.
// want gelu_kernel1: grid 24576, block 256, out 6291456, inp 6291456
// want gelu_kernel2: grid 3072, block 256, out 6291456, inp 6291456
#include <cuda_runtime.h>
#include "common.h"
#define USE_BF16
#if defined(USE_BF16)
typedef __nv_bfloat16 real_t;
#else
typedef float real_t;
#endif
typedef Pack<real_t> pack_t;
#define SCALE 0.7978845608f

__global__ void gelu_kernel1(real_t *out, const real_t *inp, int N) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) {
        float x = inp[i];
        out[i] = (real_t)(0.5f * x * (1.0f + tanhf(SCALE * (x + 0.044715f * x * x * x))));
    }
}
__global__ void gelu_kernel2(real_t *out, const real_t *inp, int N) {
    int i = (blockIdx.x * blockDim.x + threadIdx.x) * pack_t::size;
    if (i < N) {
        pack_t y, x = load_pack(inp + i);
        for (int k = 0; k < x.size; ++k) {
            float v = (float)x[k];
            y[k] = (real_t)(0.5f * v * (1.0f + tanhf(SCALE * (v + 0.044715f * v * v * v))));
        }
        store_pack(out + i, y);
    }
}
void gelu1(real_t *out, const real_t *inp, int N, const int block_size) {
    const int grid_size = ceil_div(N, block_size);
    gelu_kernel1<<<grid_size, block_size>>>(out, inp, N);
    cudaCheck(cudaGetLastError());
}
void gelu2(real_t *out, const real_t *inp, int N, const int block_size) {
    const int grid_size = ceil_div(N, block_size * pack_t::size);
    gelu_kernel2<<<grid_size, block_size>>>(out, inp, N);
}
int main() {
    int B = 8, T = 1024, C = 768;
    real_t *d_out, *d_inp;
    cudaCheck(cudaMalloc(&d_out, B * T * C * sizeof(real_t)));
    cudaCheck(cudaMalloc(&d_inp, B * T * C * sizeof(real_t)));
    int block_sizes[] = {32, 64, 128, 256, 512, 1024};
    for (int block_size : block_sizes) {
        gelu1(d_out, d_inp, B * T * C, block_size);
        gelu2(d_out, d_inp, B * T * C, block_size);
    }
}
