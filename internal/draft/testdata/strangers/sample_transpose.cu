// Constants of the file, and a table of function pointers instead of direct launches.
// want copy: grid 32x32, block 32x8, odata 1048576, idata 1048576
// want transposeNaive: grid 32x32, block 32x8, odata 1048576, idata 1048576
// want transposeTiles: grid 32x32, block 32x8, odata 1048576, idata 1048576
#include <cuda_runtime.h>
const int TILE_DIM = 32;
const int BLOCK_ROWS = 8;
__global__ void copy(float *odata, const float *idata) {
    int x = blockIdx.x * TILE_DIM + threadIdx.x;
    int y = blockIdx.y * TILE_DIM + threadIdx.y;
    int width = gridDim.x * TILE_DIM;
    for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS) odata[(y + j) * width + x] = idata[(y + j) * width + x];
}
__global__ void transposeNaive(float *odata, const float *idata) {
    int x = blockIdx.x * TILE_DIM + threadIdx.x;
    int y = blockIdx.y * TILE_DIM + threadIdx.y;
    int width = gridDim.x * TILE_DIM;
    for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS) odata[x * width + (y + j)] = idata[(y + j) * width + x];
}
__global__ void transposeTiles(float *odata, const float *idata) {
    __shared__ float tile[TILE_DIM][TILE_DIM + 1];
    int x = blockIdx.x * TILE_DIM + threadIdx.x;
    int y = blockIdx.y * TILE_DIM + threadIdx.y;
    int width = gridDim.x * TILE_DIM;
    for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS) tile[threadIdx.y + j][threadIdx.x] = idata[(y + j) * width + x];
    __syncthreads();
    x = blockIdx.y * TILE_DIM + threadIdx.x;
    y = blockIdx.x * TILE_DIM + threadIdx.y;
    for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS) odata[(y + j) * width + x] = tile[threadIdx.x][threadIdx.y + j];
}
int main(int argc, char **argv) {
    const int nx = 1024;
    const int ny = 1024;
    const int mem_size = nx * ny * sizeof(float);
    dim3 dimGrid(nx / TILE_DIM, ny / TILE_DIM, 1);
    dim3 dimBlock(TILE_DIM, BLOCK_ROWS, 1);
    float *d_idata, *d_odata;
    cudaMalloc(&d_idata, mem_size);
    cudaMalloc(&d_odata, mem_size);
    for (int i = 0; i < 100; i++) copy<<<dimGrid, dimBlock>>>(d_odata, d_idata);
    transposeNaive<<<dimGrid, dimBlock>>>(d_odata, d_idata);
    transposeTiles<<<dimGrid, dimBlock>>>(d_odata, d_idata);
}
