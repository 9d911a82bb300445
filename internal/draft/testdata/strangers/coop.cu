// A cooperative launch with an array of arguments.
// want smooth: grid 132, block 128, u 262144, tmp 262144, cooperative
#include <cooperative_groups.h>
#include <cuda_runtime.h>
namespace cg = cooperative_groups;
__global__ void smooth(float *u, float *tmp, int n, int steps) {
    cg::grid_group grid = cg::this_grid();
    for (int s = 0; s < steps; s++) {
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
            tmp[i] = (i > 0 && i < n - 1) ? 0.25f * (u[i - 1] + 2 * u[i] + u[i + 1]) : u[i];
        grid.sync();
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) u[i] = tmp[i];
        grid.sync();
    }
}
int main() {
    int n = 1 << 18;
    int steps = 4;
    float *u, *tmp;
    cudaMalloc(&u, n * sizeof(float));
    cudaMalloc(&tmp, n * sizeof(float));
    void *args[] = {&u, &tmp, &n, &steps};
    cudaLaunchCooperativeKernel((void *)smooth, dim3(132), dim3(128), args, 0, 0);
}
