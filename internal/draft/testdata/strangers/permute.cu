// Heads come out of one buffer of three parts; a division of sizes.
// want split_heads: grid 24576, block 256, q 6291456, k 6291456, v 6291456, inp 18874368
// want scores: grid 393216, block 256, out 100663296, q 6291456, k 6291456
#include <cuda_runtime.h>
#include <math.h>
#include "common.h"
__global__ void split_heads(float *q, float *k, float *v, const float *inp, int B, int N, int NH, int d) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx < B * NH * N * d) {
        int b = idx / (NH * N * d);
        int rest = idx % (NH * N * d);
        int nh = rest / (N * d);
        rest = rest % (N * d);
        int n = rest / d;
        int e = rest % d;
        int from = (b * N * 3 * NH * d) + (n * 3 * NH * d) + (0 * NH * d) + (nh * d) + e;
        q[idx] = inp[from];
        k[idx] = inp[from + NH * d];
        v[idx] = inp[from + 2 * (NH * d)];
    }
}
__global__ void scores(float *out, const float *q, const float *k, int B, int T, int NH, int HS, float scale) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    int total = B * NH * T * T;
    if (idx < total) {
        int t2 = idx % T;
        int t = (idx / T) % T;
        int bh = idx / (T * T);
        const float *qt = q + (bh * T + t) * HS;
        const float *kt = k + (bh * T + t2) * HS;
        float val = 0.0f;
        for (int i = 0; i < HS; i++) val += qt[i] * kt[i];
        out[idx] = val * scale;
    }
}
void heads(float *out, float *qkvr, const float *inp, int B, int T, int C, int NH, const int block_size) {
    int HS = C / NH;
    float *q, *k, *v;
    q = qkvr + 0 * B * T * C;
    k = qkvr + 1 * B * T * C;
    v = qkvr + 2 * B * T * C;
    int total_threads = B * NH * T * HS;
    int num_blocks = ceil_div(total_threads, block_size);
    split_heads<<<num_blocks, block_size>>>(q, k, v, inp, B, T, NH, HS);
    float scale = 1.0f / sqrtf(HS);
    int total = B * NH * T * T;
    scores<<<ceil_div(total, block_size), block_size>>>(out, q, k, B, T, NH, HS, scale);
}
int main() {
    int B = 8, T = 1024, C = 768, NH = 12;
    float *d_out, *d_qkvr, *d_inp;
    cudaCheck(cudaMalloc(&d_out, B * NH * T * T * sizeof(float)));
    cudaCheck(cudaMalloc(&d_qkvr, B * T * 3 * C * sizeof(float)));
    cudaCheck(cudaMalloc(&d_inp, B * T * 3 * C * sizeof(float)));
    int block_size = 256;
    heads(d_out, d_qkvr, d_inp, B, T, C, NH, block_size);
}
