// Steps of a product: template tiles, pointers that move along, assertions, shared memory on request.
// want sgemm_naive: grid 32x128, block 32x8, A 1048576, B 1048576, C 1048576, oracle gemm
// want sgemm_block1: grid 16x16, block 512, A 1048576, B 1048576, C 1048576, oracle gemm
// want sgemm_vector: grid 8x8, block 256, A 1048576, B 1048576, C 1048576, oracle gemm
#include <cassert>
#include <cuda_runtime.h>
#define CEIL_DIV(M, N) (((M) + (N)-1) / (N))
__global__ void sgemm_naive(int M, int N, int K, float alpha, const float *A, const float *B, float beta, float *C) {
    const uint x = blockIdx.x * blockDim.x + threadIdx.x;
    const uint y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < N && y < M) {
        float tmp = 0.0;
        for (int i = 0; i < K; ++i) tmp += A[y * K + i] * B[i * N + x];
        C[y * N + x] = alpha * tmp + beta * C[y * N + x];
    }
}
template <const int BM, const int BN, const int BK, const int TM>
__global__ void sgemm_block1(int M, int N, int K, float alpha, const float *A, const float *B, float beta, float *C) {
    const uint cRow = blockIdx.y;
    const uint cCol = blockIdx.x;
    const int threadCol = threadIdx.x % BN;
    const int threadRow = threadIdx.x / BN;
    __shared__ float As[BM * BK];
    __shared__ float Bs[BK * BN];
    A += cRow * BM * K;
    B += cCol * BN;
    C += cRow * BM * N + cCol * BN;
    const uint innerColA = threadIdx.x % BK;
    const uint innerRowA = threadIdx.x / BK;
    const uint innerColB = threadIdx.x % BN;
    const uint innerRowB = threadIdx.x / BN;
    float results[TM] = {0.0};
    for (uint bk = 0; bk < K; bk += BK) {
        As[innerRowA * BK + innerColA] = A[innerRowA * K + innerColA];
        Bs[innerRowB * BN + innerColB] = B[innerRowB * N + innerColB];
        __syncthreads();
        A += BK;
        B += BK * N;
        for (uint dot = 0; dot < BK; ++dot) {
            float b = Bs[dot * BN + threadCol];
            for (uint r = 0; r < TM; ++r) results[r] += As[(threadRow * TM + r) * BK + dot] * b;
        }
        __syncthreads();
    }
    for (uint r = 0; r < TM; ++r) C[(threadRow * TM + r) * N + threadCol] = alpha * results[r] + beta * C[(threadRow * TM + r) * N + threadCol];
}
template <const int BM, const int BN, const int BK, const int TM, const int TN>
__global__ void sgemm_vector(int M, int N, int K, float alpha, float *A, float *B, float beta, float *C) {
    const uint cRow = blockIdx.y;
    const uint cCol = blockIdx.x;
    const int threadCol = threadIdx.x % (BN / TN);
    const int threadRow = threadIdx.x / (BN / TN);
    __shared__ float As[BM * BK];
    __shared__ float Bs[BK * BN];
    A += cRow * BM * K;
    B += cCol * BN;
    C += cRow * BM * N + cCol * BN;
    const uint innerRowA = threadIdx.x / (BK / 4);
    const uint innerColA = threadIdx.x % (BK / 4);
    const uint innerRowB = threadIdx.x / (BN / 4);
    const uint innerColB = threadIdx.x % (BN / 4);
    float results[TM * TN] = {0.0};
    for (uint bk = 0; bk < K; bk += BK) {
        float4 tmp = reinterpret_cast<float4 *>(&A[innerRowA * K + innerColA * 4])[0];
        As[(innerColA * 4 + 0) * BM + innerRowA] = tmp.x;
        As[(innerColA * 4 + 1) * BM + innerRowA] = tmp.y;
        As[(innerColA * 4 + 2) * BM + innerRowA] = tmp.z;
        As[(innerColA * 4 + 3) * BM + innerRowA] = tmp.w;
        reinterpret_cast<float4 *>(&Bs[innerRowB * BN + innerColB * 4])[0] = reinterpret_cast<float4 *>(&B[innerRowB * N + innerColB * 4])[0];
        __syncthreads();
        A += BK;
        B += BK * N;
        for (uint dot = 0; dot < BK; ++dot)
            for (uint r = 0; r < TM; ++r)
                for (uint c = 0; c < TN; ++c) results[r * TN + c] += As[dot * BM + threadRow * TM + r] * Bs[dot * BN + threadCol * TN + c];
        __syncthreads();
    }
    for (uint r = 0; r < TM; r += 1)
        for (uint c = 0; c < TN; c += 4) {
            float4 tmp = reinterpret_cast<float4 *>(&C[(threadRow * TM + r) * N + threadCol * TN + c])[0];
            tmp.x = alpha * results[r * TN + c] + beta * tmp.x;
            tmp.y = alpha * results[r * TN + c + 1] + beta * tmp.y;
            tmp.z = alpha * results[r * TN + c + 2] + beta * tmp.z;
            tmp.w = alpha * results[r * TN + c + 3] + beta * tmp.w;
            reinterpret_cast<float4 *>(&C[(threadRow * TM + r) * N + threadCol * TN + c])[0] = tmp;
        }
}
void run_naive(int M, int N, int K, float alpha, float *A, float *B, float beta, float *C) {
    dim3 gridDim(CEIL_DIV(N, 32), CEIL_DIV(M, 8));
    dim3 blockDim(32, 8);
    sgemm_naive<<<gridDim, blockDim>>>(M, N, K, alpha, A, B, beta, C);
}
void run_block1(int M, int N, int K, float alpha, float *A, float *B, float beta, float *C) {
    const uint BM = 64;
    const uint BN = 64;
    const uint BK = 8;
    const uint TM = 8;
    dim3 gridDim(CEIL_DIV(N, BN), CEIL_DIV(M, BM));
    dim3 blockDim((BM * BN) / TM);
    sgemm_block1<BM, BN, BK, TM><<<gridDim, blockDim>>>(M, N, K, alpha, A, B, beta, C);
}
void run_vector(int M, int N, int K, float alpha, float *A, float *B, float beta, float *C) {
    const uint BK = 8, TM = 8, TN = 8;
    if (M >= 128 and N >= 128) {
        const uint BM = 128;
        const uint BN = 128;
        dim3 gridDim(CEIL_DIV(N, BN), CEIL_DIV(M, BM));
        dim3 blockDim((BM * BN) / (TM * TN));
        sgemm_vector<BM, BN, BK, TM, TN><<<gridDim, blockDim>>>(M, N, K, alpha, A, B, beta, C);
    }
}
int main() {
    long m, n, k, max_size = 1024;
    float alpha = 0.5, beta = 3.0;
    float *dA = nullptr, *dB = nullptr, *dC = nullptr;
    cudaMalloc((void **)&dA, sizeof(float) * max_size * max_size);
    cudaMalloc((void **)&dB, sizeof(float) * max_size * max_size);
    cudaMalloc((void **)&dC, sizeof(float) * max_size * max_size);
    m = n = k = max_size;
    run_naive(m, n, k, alpha, dA, dB, beta, dC);
    run_block1(m, n, k, alpha, dA, dB, beta, dC);
    run_vector(m, n, k, alpha, dA, dB, beta, dC);
}
