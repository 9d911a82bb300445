// Versions of a layer norm with mean and rstd as further outputs; ceil_div is in a header.
// want layernorm_kernel1: grid 32, block 256, out 6291456, mean 8192, rstd 8192, inp 6291456, weight 768, bias 768, oracle layernorm
// want mean_kernel: grid 8192, block 256, shared 1024, mean 8192, inp 6291456
// want rstd_kernel: grid 8192, block 256, shared 1024, rstd 8192, inp 6291456, mean 8192
// want normalize_kernel: grid 24576, block 256, out 6291456, inp 6291456, mean 8192, rstd 8192, weight 768, bias 768
// want layernorm_kernel3: grid 1024, block 256, out 6291456, mean 8192, rstd 8192, inp 6291456, weight 768, bias 768, oracle layernorm
// want layernorm_kernel5: grid 8192, block 256, out 6291456, mean 8192, rstd 8192, inp 6291456, weight 768, bias 768, oracle layernorm
#include <assert.h>
#include <cuda_runtime.h>
#include "common.h"

__global__ void layernorm_kernel1(float *out, float *mean, float *rstd, const float *inp, const float *weight,
                                  const float *bias, int N, int C) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    float eps = 1e-5f;
    if (idx < N) {
        const float *x = inp + idx * C;
        float m = 0.0f;
        for (int i = 0; i < C; i++) m += x[i];
        m = m / C;
        float v = 0.0f;
        for (int i = 0; i < C; i++) { float d = x[i] - m; v += d * d; }
        float s = 1.0f / sqrtf(v / C + eps);
        float *o = out + idx * C;
        for (int i = 0; i < C; i++) o[i] = s * (x[i] - m) * weight[i] + bias[i];
        mean[idx] = m;
        rstd[idx] = s;
    }
}

__global__ void mean_kernel(float *mean, const float *inp, int N, int C, int block_size) {
    extern __shared__ float part[];
    int idx = blockIdx.x;
    int tid = threadIdx.x;
    const float *x = inp + idx * C;
    float sum = 0.0f;
    for (int i = tid; i < C; i += block_size) sum += x[i];
    part[tid] = sum;
    for (int stride = block_size / 2; stride >= 1; stride /= 2) {
        __syncthreads();
        if (tid < stride) part[tid] += part[tid + stride];
    }
    if (tid == 0) mean[idx] = part[0] / C;
}

__global__ void rstd_kernel(float *rstd, const float *inp, const float *mean, int N, int C, int block_size) {
    extern __shared__ float part[];
    int idx = blockIdx.x;
    int tid = threadIdx.x;
    const float *x = inp + idx * C;
    float m = mean[idx];
    float sum = 0.0f;
    for (int i = tid; i < C; i += block_size) { float d = x[i] - m; sum += d * d; }
    part[tid] = sum;
    for (int stride = block_size / 2; stride >= 1; stride /= 2) {
        __syncthreads();
        if (tid < stride) part[tid] += part[tid + stride];
    }
    if (tid == 0) rstd[idx] = 1.0f / sqrtf(part[0] / C + 1e-5f);
}

__global__ void normalize_kernel(float *out, const float *inp, float *mean, float *rstd, const float *weight,
                                 const float *bias, int B, int T, int C) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    int bt = idx / C;
    int c = idx % C;
    out[idx] = rstd[bt] * (inp[idx] - mean[bt]) * weight[c] + bias[c];
}

__global__ void layernorm_kernel3(float *__restrict__ out, float *__restrict__ mean, float *__restrict__ rstd,
                                  const float *__restrict__ inp, const float *__restrict__ weight,
                                  const float *__restrict__ bias, int N, int C) {
    int warps = blockDim.x / warpSize;
    int warp = threadIdx.x / warpSize;
    int lane = threadIdx.x % warpSize;
    int idx = blockIdx.x * warps + warp;
    if (idx >= N) {
        return;
    }
    const float *x = inp + idx * C;
    float sum = 0.0f;
    for (int i = lane; i < C; i += warpSize) sum += x[i];
    float m = sum_of_warp(sum) / C;
    if (lane == 0 && mean != nullptr) __stcs(mean + idx, m);
    sum = 0.0f;
    for (int i = lane; i < C; i += warpSize) { float d = x[i] - m; sum += d * d; }
    float s = rsqrtf(sum_of_warp(sum) / C + 1e-5f);
    if (lane == 0 && rstd != nullptr) __stcs(rstd + idx, s);
    float *o = out + idx * C;
    for (int c = lane; c < C; c += warpSize) __stcs(o + c, s * (__ldcs(x + c) - m) * weight[c] + bias[c]);
}

__global__ void __launch_bounds__(512) layernorm_kernel5(float *__restrict__ out, float *__restrict__ mean, float *__restrict__ rstd,
                                  const float *__restrict__ inp, const float *__restrict__ weight,
                                  const float *__restrict__ bias, int N, int C) {
    __shared__ float sums[32];
    int warps = blockDim.x / 32, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int row = blockIdx.x;
    const float *x = inp + row * C;
    float sum = 0.0f, squares = 0.0f;
    for (int i = threadIdx.x; i < C; i += blockDim.x) { sum += x[i]; squares += x[i] * x[i]; }
    sum = sum_of_warp(sum);
    sums[warp] = sum;
    __syncthreads();
    sum = lane < warps ? sums[lane] : 0.0f;
    float m = sum_of_warp(sum) / C;
    squares = sum_of_warp(squares);
    __syncthreads();
    sums[warp] = squares;
    __syncthreads();
    squares = lane < warps ? sums[lane] : 0.0f;
    float s = rsqrtf(sum_of_warp(squares) / C - m * m + 1e-5f);
    if (threadIdx.x == 0) { mean[row] = m; rstd[row] = s; }
    float *o = out + row * C;
    for (int i = threadIdx.x; i < C; i += blockDim.x) o[i] = s * (x[i] - m) * weight[i] + bias[i];
}

void layernorm1(float *out, float *mean, float *rstd, const float *inp, const float *weight, const float *bias, int B, int T, int C, const int block_size) {
    const int N = B * T;
    const int grid_size = ceil_div(N, block_size);
    layernorm_kernel1<<<grid_size, block_size>>>(out, mean, rstd, inp, weight, bias, N, C);
}
void layernorm2(float *out, float *mean, float *rstd, const float *inp, const float *weight, const float *bias, int B, int T, int C, const int block_size) {
    int N = B * T;
    mean_kernel<<<B * T, block_size, block_size * sizeof(float)>>>(mean, inp, N, C, block_size);
    rstd_kernel<<<B * T, block_size, block_size * sizeof(float)>>>(rstd, inp, mean, N, C, block_size);
    const int block_size2 = 256;
    const int grid_size = ceil_div(B * T * C, block_size2);
    normalize_kernel<<<grid_size, block_size2>>>(out, inp, mean, rstd, weight, bias, B, T, C);
}
void layernorm3(float *out, float *mean, float *rstd, const float *inp, const float *weight, const float *bias, int B, int T, int C, const int block_size) {
    assert(block_size % 32 == 0);
    const int N = B * T;
    const int grid_size = ceil_div(N * 32, block_size);
    layernorm_kernel3<<<grid_size, block_size>>>(out, mean, rstd, inp, weight, bias, N, C);
}
void layernorm5(float *out, float *mean, float *rstd, const float *inp, const float *weight, const float *bias, int B, int T, int C, const int block_size) {
    const int N = B * T;
    layernorm_kernel5<<<N, block_size>>>(out, mean, rstd, inp, weight, bias, N, C);
    cudaCheck(cudaGetLastError());
}
void layernorm(int version, float *out, float *mean, float *rstd, const float *inp, const float *weight, const float *bias, int B, int T, int C, int block_size) {
    switch (version) {
        case 1:
            layernorm1(out, mean, rstd, inp, weight, bias, B, T, C, block_size);
            break;
        case 2:
            layernorm2(out, mean, rstd, inp, weight, bias, B, T, C, block_size);
            break;
        case 3:
            layernorm3(out, mean, rstd, inp, weight, bias, B, T, C, block_size);
            break;
        case 5:
            layernorm5(out, mean, rstd, inp, weight, bias, B, T, C, block_size);
            break;
    }
}
int main(int argc, char **argv) {
    int B = 8;
    int T = 1024;
    int C = 768;
    float *d_out, *d_mean, *d_rstd, *d_inp, *d_weight, *d_bias;
    cudaCheck(cudaMalloc(&d_out, B * T * C * sizeof(float)));
    cudaCheck(cudaMalloc(&d_mean, B * T * sizeof(float)));
    cudaCheck(cudaMalloc(&d_rstd, B * T * sizeof(float)));
    cudaCheck(cudaMalloc(&d_inp, B * T * C * sizeof(float)));
    cudaCheck(cudaMalloc(&d_weight, C * sizeof(float)));
    cudaCheck(cudaMalloc(&d_bias, C * sizeof(float)));
    int version = 2;
    if (argc > 1) version = atoi(argv[1]);
    int block_sizes[] = {32, 64, 128, 256, 512};
    for (int j = 0; j < sizeof(block_sizes) / sizeof(int); j++) {
        int block_size = block_sizes[j];
        layernorm(version, d_out, d_mean, d_rstd, d_inp, d_weight, d_bias, B, T, C, block_size);
    }
}
