// Column sums in three ways: a block per column, a warp per column, columns beside each other.
// want bias_grad_kernel1: grid 3072, block 512, shared 2048, dbias 3072, dout 25165824
// want bias_grad_kernel2: grid 192, block 512, dbias 3072, dout 25165824
// want bias_grad_kernel4: grid 96, block 512, shared 2048, dbias 3072, dout 25165824
// want bias_grad_kernel5: grid 6x32, block 512, dbias 3072, dout 25165824
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_runtime.h>
#define REAL_IS_FLOAT
#include "real.h"
__global__ void bias_grad_kernel1(real *dbias, const real *dout, int B, int T, int OC) {
    extern __shared__ float shared[];
    int o = blockIdx.x;
    int tid = threadIdx.x;
    int block_size = blockDim.x;
    const real *x = dout + o;
    float sum = 0.0;
    for (int i = tid; i < B * T; i += block_size) sum += (float)x[i * OC];
    shared[tid] = sum;
    __syncthreads();
    for (int stride = block_size / 2; stride >= 1; stride /= 2) {
        __syncthreads();
        if (tid < stride) shared[tid] += shared[tid + stride];
    }
    if (tid == 0) dbias[o] = (real)((float)dbias[o] + shared[0]);
}
__global__ void bias_grad_kernel2(real *dbias, const real *dout, int B, int T, int OC) {
    namespace cg = cooperative_groups;
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
    int idx = blockIdx.x * warp.meta_group_size() + warp.meta_group_rank();
    if (idx >= OC) { return; }
    int BT = B * T;
    float sum = 0.0f;
    for (int i = warp.thread_rank(); i < BT; i += warp.size()) sum += (float)dout[i * OC + idx];
    sum = cg::reduce(warp, sum, cg::plus<float>{});
    if (warp.thread_rank() == 0) dbias[idx] += (real)sum;
}
__global__ void bias_grad_kernel4(real *dbias, const real *dout, int B, int T, int OC) {
    extern __shared__ float smem[];
    const int warp_id = threadIdx.x / warpSize;
    const int lane_id = threadIdx.x % warpSize;
    const int tl = blockIdx.x * warpSize;
    const int vstep = blockDim.x / warpSize;
    const real *col = dout + tl + lane_id;
    float sum = 0.0f;
    for (int row = warp_id; row < B * T; row += vstep) sum += (float)col[row * OC];
    smem[lane_id + warp_id * warpSize] = sum;
    __syncthreads();
    sum = 0.0f;
    if (warp_id == 0) {
        for (int j = 0; j < vstep; j++) sum += smem[lane_id + j * warpSize];
        dbias[tl + lane_id] += sum;
    }
}
__global__ void bias_grad_kernel5(real *dbias, const real *dout, int B, int T, int OC) {
    int oc = blockIdx.x * blockDim.x + threadIdx.x;
    if (oc >= OC) return;
    float sum = 0.0;
    for (int i = blockIdx.y; i < B * T; i += gridDim.y) sum += (float)dout[i * OC + oc];
    atomicAdd(dbias + oc, sum);
}
void bias_grad1(real *dbias, const real *dout, int B, int T, int OC, int block_size) {
    dim3 block_dim(block_size);
    dim3 grid_dim(OC);
    size_t shared_mem_size = block_size * sizeof(float);
    bias_grad_kernel1<<<grid_dim, block_dim, shared_mem_size>>>(dbias, dout, B, T, OC);
}
void bias_grad2(real *dbias, const real *dout, int B, int T, int OC, int block_size) {
    const int grid_size = ceil_div(OC * 32, block_size);
    bias_grad_kernel2<<<grid_size, block_size>>>(dbias, dout, B, T, OC);
}
void bias_grad4(real *dbias, const real *dout, int B, int T, int OC, int block_size) {
    const int grid_size = OC / 32;
    bias_grad_kernel4<<<grid_size, block_size, block_size * sizeof(float)>>>(dbias, dout, B, T, OC);
}
void bias_grad5(real *dbias, const real *dout, int B, int T, int OC, int block_size) {
    const int grid_size_x = ceil_div(OC, block_size);
    const int grid_size_y = std::max(1, 16384 / block_size);
    bias_grad_kernel5<<<dim3(grid_size_x, grid_size_y), dim3(block_size)>>>(dbias, dout, B, T, OC);
}
void bias_grad(int version, real *dbias, real *dout, int B, int T, int OC, int block_size) {
    switch (version) {
        case 1: bias_grad1(dbias, dout, B, T, OC, block_size); break;
        case 2: bias_grad2(dbias, dout, B, T, OC, block_size); break;
        case 4: bias_grad4(dbias, dout, B, T, OC, block_size); break;
        case 5: bias_grad5(dbias, dout, B, T, OC, block_size); break;
    }
}
int main(int argc, char **argv) {
    int B = 8;
    int T = 1024;
    int C = 768;
    int OC = 768 * 4;
    real *d_dbias, *d_dout;
    cudaMalloc(&d_dbias, OC * sizeof(real));
    cudaMalloc(&d_dout, B * T * OC * sizeof(real));
    int version = argc > 1 ? atoi(argv[1]) : 1;
    int block_sizes[] = {32, 64, 512, 1024};
    for (int j = 0; j < sizeof(block_sizes) / sizeof(int); j++) {
        int block_size = block_sizes[j];
        bias_grad(version, d_dbias, d_dout, B, T, OC, block_size);
    }
}
