// Rows are gathered by indices that another buffer holds.
// want embed_kernel1: grid 32, block 256, out 6291456, tokens 8192, table 38597376, positions 786432, todo 1
// want embed_kernel2: grid 24576, block 256, out 6291456, tokens 8192, table 38597376, positions 786432, todo 1
#include <cuda_runtime.h>
#include "common.h"
__global__ void embed_kernel1(float *out, const int *tokens, const float *table, const float *positions, int B, int T, int C) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    int N = B * T;
    if (idx < N) {
        int b = idx / T;
        int t = idx % T;
        float *o = out + b * T * C + t * C;
        int token = tokens[b * T + t];
        const float *row = table + token * C;
        const float *pos = positions + t * C;
        for (int i = 0; i < C; i++) o[i] = row[i] + pos[i];
    }
}
__global__ void embed_kernel2(float *out, const int *tokens, const float *table, const float *positions, int B, int T, int C) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    int N = B * T * C;
    if (idx < N) {
        int bt = idx / C;
        int b = bt / T;
        int t = bt % T;
        int c = idx % C;
        int token = tokens[b * T + t];
        out[b * T * C + t * C + c] = table[token * C + c] + positions[t * C + c];
    }
}
void embed1(float *out, const int *tokens, const float *table, const float *positions, int B, int T, int C, const int block_size) {
    const int N = B * T;
    embed_kernel1<<<ceil_div(N, block_size), block_size>>>(out, tokens, table, positions, B, T, C);
}
void embed2(float *out, const int *tokens, const float *table, const float *positions, int B, int T, int C, const int block_size) {
    const int N = B * T * C;
    const int grid_size = ceil_div(N, block_size);
    embed_kernel2<<<grid_size, block_size>>>(out, tokens, table, positions, B, T, C);
}
int main() {
    int B = 8;
    int T = 1024;
    int C = 768;
    int V = 50257;
    float *d_out; int *d_tokens; float *d_table; float *d_positions;
    cudaCheck(cudaMalloc(&d_out, B * T * C * sizeof(float)));
    cudaCheck(cudaMalloc(&d_tokens, B * T * sizeof(int)));
    cudaCheck(cudaMalloc(&d_table, V * C * sizeof(float)));
    cudaCheck(cudaMalloc(&d_positions, T * C * sizeof(float)));
    int block_sizes[] = {32, 64, 128, 256, 512, 1024};
    for (int j = 0; j < 6; j++) {
        int block_size = block_sizes[j];
        embed1(d_out, d_tokens, d_table, d_positions, B, T, C, block_size);
        embed2(d_out, d_tokens, d_table, d_positions, B, T, C, block_size);
    }
}
