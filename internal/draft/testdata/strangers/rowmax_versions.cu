// Several versions of one operation, a CPU reference, wrappers that compute the grid, and a main
// that tries block sizes.
// want softmax_rows_kernel1: grid 32, block 256, out 8388608, inp 8388608, oracle softmax
// want softmax_rows_kernel2: grid 8192, block 256, shared 1024, out 8388608, inp 8388608, oracle softmax
// want softmax_rows_kernel3: grid 8192, block 32, shared 128, out 8388608, inp 8388608, oracle softmax
// want softmax_rows_kernel4: grid 8192, block 256, shared 64, out 8388608, inp 8388608, oracle softmax
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <cuda_runtime.h>

#define CEIL_DIV(a, b) (((a) + (b) - 1) / (b))

void check(cudaError_t e, const char *file, int line) {
    if (e != cudaSuccess) { printf("%s:%d %s\n", file, line, cudaGetErrorString(e)); exit(1); }
}
#define check(e) (check(e, __FILE__, __LINE__))

void softmax_rows_cpu(float *out, const float *inp, int N, int C) {
    for (int n = 0; n < N; n++) {
        const float *x = inp + n * C;
        float *y = out + n * C;
        float m = -INFINITY, s = 0;
        for (int c = 0; c < C; c++) m = fmaxf(m, x[c]);
        for (int c = 0; c < C; c++) { y[c] = expf(x[c] - m); s += y[c]; }
        for (int c = 0; c < C; c++) y[c] /= s;
    }
}

__global__ void softmax_rows_kernel1(float *out, float *inp, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < N) {
        float *x = inp + row * C;
        float *y = out + row * C;
        float m = -INFINITY;
        for (int c = 0; c < C; c++) if (x[c] > m) m = x[c];
        float s = 0.0f;
        for (int c = 0; c < C; c++) { y[c] = expf(x[c] - m); s += y[c]; }
        for (int c = 0; c < C; c++) y[c] /= s;
    }
}

__global__ void softmax_rows_kernel2(float *out, float *inp, int N, int C) {
    extern __shared__ float part[];
    int row = blockIdx.x, tid = threadIdx.x, block_size = blockDim.x;
    float *x = inp + row * C;
    float m = -INFINITY;
    for (int c = tid; c < C; c += block_size) m = fmaxf(m, x[c]);
    part[tid] = m;
    for (int stride = block_size / 2; stride >= 1; stride /= 2) {
        __syncthreads();
        if (tid < stride) part[tid] = fmaxf(part[tid], part[tid + stride]);
    }
    __syncthreads();
    m = part[0];
    __syncthreads();
    float s = 0.0f;
    for (int c = tid; c < C; c += block_size) { float e = expf(x[c] - m); out[row * C + c] = e; s += e; }
    part[tid] = s;
    for (int stride = block_size / 2; stride >= 1; stride /= 2) {
        __syncthreads();
        if (tid < stride) part[tid] += part[tid + stride];
    }
    __syncthreads();
    s = part[0];
    x = out + row * C;
    for (int c = tid; c < C; c += block_size) out[row * C + c] = x[c] / s;
}

__device__ float lanes_max(float v) {
    for (int o = 16; o > 0; o /= 2) v = fmaxf(v, __shfl_down_sync(0xffffffff, v, o));
    return v;
}
__device__ float lanes_sum(float v) {
    for (int o = 16; o > 0; o /= 2) v += __shfl_down_sync(0xffffffff, v, o);
    return v;
}

__global__ void softmax_rows_kernel3(float *out, float *inp, int N, int C) {
    extern __shared__ float part[];
    int row = blockIdx.x;
    int tid = threadIdx.x;
    float *x = inp + row * C;
    float m = -INFINITY;
    for (int c = tid; c < C; c += blockDim.x) m = fmaxf(m, x[c]);
    m = __shfl_sync(0xffffffff, lanes_max(m), 0);
    float s = 0.0f;
    for (int c = tid; c < C; c += blockDim.x) s += expf(x[c] - m);
    s = __shfl_sync(0xffffffff, lanes_sum(s), 0);
    for (int c = tid; c < C; c += blockDim.x) out[row * C + c] = expf(x[c] - m) / s;
}

__global__ void softmax_rows_kernel4(float *out, float *inp, int N, int C) {
    extern __shared__ float part[];
    int row = blockIdx.x, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int warps = blockDim.x / 32;
    float *maxima = part, *sums = &part[warps];
    float *x = inp + row * C;
    float m = -INFINITY;
    for (int c = threadIdx.x; c < C; c += blockDim.x) m = fmaxf(m, x[c]);
    m = lanes_max(m);
    if (lane == 0) maxima[warp] = m;
    __syncthreads();
    m = maxima[0];
    for (int w = 1; w < warps; w++) m = fmaxf(m, maxima[w]);
    float s = 0.0f;
    for (int c = threadIdx.x; c < C; c += blockDim.x) s += expf(x[c] - m);
    s = lanes_sum(s);
    if (lane == 0) sums[warp] = s;
    __syncthreads();
    s = 0.0f;
    for (int w = 0; w < warps; w++) s += sums[w];
    for (int c = threadIdx.x; c < C; c += blockDim.x) out[row * C + c] = expf(x[c] - m) / s;
}

void softmax_rows1(float *out, float *inp, int N, int C, const int block_size) {
    const int grid_size = CEIL_DIV(N, block_size);
    softmax_rows_kernel1<<<grid_size, block_size>>>(out, inp, N, C);
    check(cudaGetLastError());
}
void softmax_rows2(float *out, float *inp, int N, int C, int block_size) {
    int grid_size = N;
    size_t bytes = block_size * sizeof(float);
    softmax_rows_kernel2<<<grid_size, block_size, bytes>>>(out, inp, N, C);
}
void softmax_rows3(float *out, float *inp, int N, int C, int block_size) {
    block_size = 32; // one warp only
    int grid_size = N;
    size_t bytes = block_size * sizeof(float);
    softmax_rows_kernel3<<<grid_size, block_size, bytes>>>(out, inp, N, C);
}
void softmax_rows4(float *out, float *inp, int N, int C, int block_size) {
    int grid_size = N;
    size_t bytes = 2 * block_size / 32 * sizeof(float);
    softmax_rows_kernel4 << <grid_size, block_size, bytes >> > (out, inp, N, C);
}

void softmax_rows(int version, float *out, float *inp, int N, int C, int block_size) {
    switch (version) {
        case 1: softmax_rows1(out, inp, N, C, block_size); break;
        case 2: softmax_rows2(out, inp, N, C, block_size); break;
        case 3: softmax_rows3(out, inp, N, C, block_size); break;
        case 4: softmax_rows4(out, inp, N, C, block_size); break;
        default: printf("no such version\n"); exit(1);
    }
}

int main(int argc, char **argv) {
    int B = 8;
    int T = 1024;
    float *out = (float *)malloc(B * T * T * sizeof(float));
    float *inp = (float *)malloc(B * T * T * sizeof(float));
    float *d_out;
    float *d_inp;
    check(cudaMalloc(&d_out, B * T * T * sizeof(float)));
    check(cudaMalloc(&d_inp, B * T * T * sizeof(float)));
    check(cudaMemcpy(d_inp, inp, B * T * T * sizeof(float), cudaMemcpyHostToDevice));
    int version = 1;
    if (argc > 1) version = atoi(argv[1]);
    int block_sizes[] = {32, 64, 128, 256, 512, 1024};
    softmax_rows_cpu(out, inp, B * T, T);
    for (int j = 0; j < sizeof(block_sizes) / sizeof(int); j++) {
        int block_size = block_sizes[j];
        softmax_rows(version, d_out, d_inp, B * T, T, block_size);
    }
    free(out); free(inp);
    check(cudaFree(d_out)); check(cudaFree(d_inp));
    return 0;
}
