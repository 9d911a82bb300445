// A product with bias whose blocks are squares; a limit on the block size under a condition.
// want matmul_kernel1: grid 512x192, block 16x16, out 25165824, inp 6291456, weight 2359296, bias 3072
// want add_bias: grid 98304, block 256, out 25165824, bias 3072
// want matmul_kernel4: grid 64x24, block 16x16, out 25165824, inp 6291456, weight 2359296, bias 3072
#include <cuda_runtime.h>
#include "common.h"

__global__ void matmul_kernel1(float *out, const float *inp, const float *weight, const float *bias, int BT, int C, int OC) {
    int bt = blockIdx.x * blockDim.x + threadIdx.x;
    int oc = blockIdx.y * blockDim.y + threadIdx.y;
    if (bt < BT && oc < OC) {
        float val = (bias != NULL) ? bias[oc] : 0.0f;
        const float *w = weight + oc * C;
        const float *x = inp + bt * C;
        for (int i = 0; i < C; i++) val += x[i] * w[i];
        out[bt * OC + oc] = val;
    }
}
__global__ void add_bias(float *out, const float *bias, int B, int T, int OC) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    int stride = blockDim.x * gridDim.x;
    for (int i = idx; i < B * T * OC; i += stride) {
        int col = i % OC;
        out[i] += bias[col];
    }
}
__device__ float4 load4(const float *p) { return *reinterpret_cast<const float4 *>(p); }
__device__ void store4(float *p, float4 v) { *reinterpret_cast<float4 *>(p) = v; }

__global__ void matmul_kernel4(float *out, const float *inp, const float *weight, const float *bias, int BT, int C, int OC) {
    int bt = 8 * (blockIdx.x * blockDim.x + threadIdx.x);
    int oc = 8 * (blockIdx.y * blockDim.y + threadIdx.y);
    if (bt < BT && oc < OC) {
        float acc[8][8] = {};
        for (int k = 0; k < C; k += 4) {
            float4 w[8];
            for (int u = 0; u < 8; ++u) w[u] = load4(weight + k + (oc + u) * C);
            for (int i = 0; i < 8; ++i) {
                float4 x = load4(inp + k + (bt + i) * C);
                for (int j = 0; j < 8; ++j) acc[i][j] += x.x * w[j].x + x.y * w[j].y + x.z * w[j].z + x.w * w[j].w;
            }
        }
        for (int i = 0; i < 8; ++i)
            for (int j = 0; j < 8; j += 4) {
                float4 r;
                r.x = acc[i][j] + bias[oc + j];
                r.y = acc[i][j + 1] + bias[oc + j + 1];
                r.z = acc[i][j + 2] + bias[oc + j + 2];
                r.w = acc[i][j + 3] + bias[oc + j + 3];
                store4(out + (bt + i) * OC + oc + j, r);
            }
    }
}
void matmul1(float *out, const float *inp, const float *weight, const float *bias, int B, int T, int C, int OC, const int sqrt_block_size) {
    dim3 gridDim(ceil_div(B * T, sqrt_block_size), ceil_div(OC, sqrt_block_size));
    dim3 blockDim(sqrt_block_size, sqrt_block_size);
    matmul_kernel1<<<gridDim, blockDim>>>(out, inp, weight, bias, B * T, C, OC);
    cudaCheck(cudaGetLastError());
}
void matmul2(float *out, const float *bias, int B, int T, int OC, int sqrt_block_size) {
    if (bias != NULL) {
        int block_size = sqrt_block_size * sqrt_block_size;
        int grid_size = ceil_div(OC * B * T, block_size);
        add_bias<<<grid_size, block_size>>>(out, bias, B, T, OC);
    }
}
void matmul4(float *out, const float *inp, const float *weight, const float *bias, int B, int T, int C, int OC, int sqrt_block_size) {
    if (sqrt_block_size > 16) sqrt_block_size = 16;
    dim3 gridDim(ceil_div(B * T, 8 * sqrt_block_size), ceil_div(OC, 8 * sqrt_block_size));
    dim3 blockDim(sqrt_block_size, sqrt_block_size);
    matmul_kernel4<<<gridDim, blockDim>>>(out, inp, weight, bias, B * T, C, OC);
}
int main(int argc, char **argv) {
    int B = 8;
    int T = 1024;
    int C = 768;
    int OC = 768 * 4;
    float *d_out, *d_inp, *d_weight, *d_bias;
    cudaCheck(cudaMalloc(&d_out, B * T * OC * sizeof(float)));
    cudaCheck(cudaMalloc(&d_inp, B * T * C * sizeof(float)));
    cudaCheck(cudaMalloc(&d_weight, C * OC * sizeof(float)));
    cudaCheck(cudaMalloc(&d_bias, OC * sizeof(float)));
    int sqrt_block_sizes[] = {4, 8, 16, 32};
    for (int j = 0; j < sizeof(sqrt_block_sizes) / sizeof(int); j++) {
        int sqrt_block_size = sqrt_block_sizes[j];
        matmul1(d_out, d_inp, d_weight, d_bias, B, T, C, OC, sqrt_block_size);
        matmul2(d_out, d_bias, B, T, OC, sqrt_block_size);
        matmul4(d_out, d_inp, d_weight, d_bias, B, T, C, OC, sqrt_block_size);
    }
}
