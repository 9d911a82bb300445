// A puzzle's solution: solve() gets device pointers.
// want matrix_multiplication_kernel: grid 64x64, block 16x16, A 1048576, B 1048576, C 1048576, todo 1, oracle gemm
// want relu_kernel: grid 4096, block 256, input 1048576, output 1048576, todo 1, oracle {elementwise: "max(input, 0)"}
#include <cuda_runtime.h>
__global__ void matrix_multiplication_kernel(const float *A, const float *B, float *C, int M, int N, int K) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= M || col >= K) return;
    float sum = 0.0f;
    for (int i = 0; i < N; i++) sum += A[row * N + i] * B[i * K + col];
    C[row * K + col] = sum;
}
__global__ void relu_kernel(const float *input, float *output, int N) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) output[i] = fmaxf(0.0f, input[i]);
}
extern "C" void solve(const float *A, const float *B, float *C, int M, int N, int K) {
    dim3 threadsPerBlock(16, 16);
    dim3 blocksPerGrid((K + threadsPerBlock.x - 1) / threadsPerBlock.x, (M + threadsPerBlock.y - 1) / threadsPerBlock.y);
    matrix_multiplication_kernel<<<blocksPerGrid, threadsPerBlock>>>(A, B, C, M, N, K);
    cudaDeviceSynchronize();
}
extern "C" void solve_relu(const float *input, float *output, int N) {
    int threadsPerBlock = 256;
    int blocksPerGrid = (N + threadsPerBlock - 1) / threadsPerBlock;
    relu_kernel<<<blocksPerGrid, threadsPerBlock>>>(input, output, N);
}
