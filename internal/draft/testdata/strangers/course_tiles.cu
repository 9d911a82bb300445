// Tiles in shared memory, ceil of a float division, a size of the command line.
// want tiledMatMul: grid 64x64, block 16x16, M 1048576, N 1048576, P 1048576, oracle gemm
#include <cuda_runtime.h>
#include <math.h>
#include <stdlib.h>
#define TILE_WIDTH 16
__global__ void tiledMatMul(float *M, float *N, float *P, int Width) {
    __shared__ float Mds[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Nds[TILE_WIDTH][TILE_WIDTH];
    int bx = blockIdx.x, by = blockIdx.y, tx = threadIdx.x, ty = threadIdx.y;
    int Row = by * TILE_WIDTH + ty;
    int Col = bx * TILE_WIDTH + tx;
    float value = 0;
    for (int ph = 0; ph < ceil(Width / (float)TILE_WIDTH); ++ph) {
        if (Row < Width && ph * TILE_WIDTH + tx < Width) Mds[ty][tx] = M[Row * Width + ph * TILE_WIDTH + tx];
        else Mds[ty][tx] = 0.0f;
        if (ph * TILE_WIDTH + ty < Width && Col < Width) Nds[ty][tx] = N[(ph * TILE_WIDTH + ty) * Width + Col];
        else Nds[ty][tx] = 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k) value += Mds[ty][k] * Nds[k][tx];
        __syncthreads();
    }
    if (Row < Width && Col < Width) P[Row * Width + Col] = value;
}
int main(int argc, char **argv) {
    int Width = argc > 1 ? atoi(argv[1]) : 1024;
    int size = Width * Width * sizeof(float);
    float *d_M, *d_N, *d_P;
    cudaMalloc((void **)&d_M, size);
    cudaMalloc((void **)&d_N, size);
    cudaMalloc((void **)&d_P, size);
    dim3 dimGrid(ceil(Width / (float)TILE_WIDTH), ceil(Width / (float)TILE_WIDTH), 1);
    dim3 dimBlock(TILE_WIDTH, TILE_WIDTH, 1);
    tiledMatMul<<<dimGrid, dimBlock>>>(d_M, d_N, d_P, Width);
}
