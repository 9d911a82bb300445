// Three dimensions, an index macro, and two buffers that change places.
// want jacobi: grid 16x32x32, block 16x8x8, next 16777216, now 16777216
#include <cuda_runtime.h>
#include <utility>
#define IDX(x, y, z) ((z) * ny * nx + (y) * nx + (x))
__global__ void jacobi(float *next, const float *now, const int nx, const int ny, const int nz) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    const int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x > 0 && y > 0 && z > 0 && x < nx - 1 && y < ny - 1 && z < nz - 1)
        next[IDX(x, y, z)] = (now[IDX(x - 1, y, z)] + now[IDX(x + 1, y, z)] + now[IDX(x, y - 1, z)] + now[IDX(x, y + 1, z)] + now[IDX(x, y, z - 1)] + now[IDX(x, y, z + 1)]) / 6.0f;
}
int main(int argc, char *argv[]) {
    int nx = 256, ny = 256, nz = 256, steps = 100;
    size_t bytes = sizeof(float) * nx * ny * nz;
    float *now, *next;
    cudaMalloc(&now, bytes);
    cudaMalloc(&next, bytes);
    cudaMemset(now, 0, bytes);
    dim3 block = {16, 8, 8};
    dim3 grid = {(nx + block.x - 1) / block.x, (ny + block.y - 1) / block.y, (nz + block.z - 1) / block.z};
    for (int s = 0; s < steps; s++) {
        jacobi<<<grid, block>>>(next, now, nx, ny, nz);
        std::swap(now, next);
    }
}
