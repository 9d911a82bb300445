// Structures of arrays as vectors of four, tiles of the block's size, managed memory.
// want bodyForce: grid 16, block 256, pos 4096, vel 4096
// want integrate: grid 16, block 256, pos 4096, vel 4096
#include <cuda_runtime.h>
#define BLOCK_SIZE 256
#define SOFTENING 1e-9f
__global__ void bodyForce(float4 *pos, float4 *vel, float dt, int n) {
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i < n) {
        float Fx = 0.0f, Fy = 0.0f, Fz = 0.0f;
        for (int tile = 0; tile < gridDim.x; tile++) {
            __shared__ float3 spos[BLOCK_SIZE];
            float4 tpos = pos[tile * blockDim.x + threadIdx.x];
            spos[threadIdx.x] = make_float3(tpos.x, tpos.y, tpos.z);
            __syncthreads();
            for (int j = 0; j < BLOCK_SIZE; j++) {
                float dx = spos[j].x - pos[i].x, dy = spos[j].y - pos[i].y, dz = spos[j].z - pos[i].z;
                float inv = rsqrtf(dx * dx + dy * dy + dz * dz + SOFTENING);
                float inv3 = inv * inv * inv;
                Fx += dx * inv3; Fy += dy * inv3; Fz += dz * inv3;
            }
            __syncthreads();
        }
        vel[i].x += dt * Fx; vel[i].y += dt * Fy; vel[i].z += dt * Fz;
    }
}
__global__ void integrate(float4 *pos, const float4 *vel, float dt, int n) {
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i < n) {
        float4 p = pos[i];
        p.x += vel[i].x * dt; p.y += vel[i].y * dt; p.z += vel[i].z * dt;
        pos[i] = p;
    }
}
int main(const int argc, const char **argv) {
    int nBodies = 4096;
    const float dt = 0.01f;
    int bytes = nBodies * sizeof(float4);
    float4 *pos, *vel;
    cudaMallocManaged(&pos, bytes);
    cudaMallocManaged(&vel, bytes);
    int nBlocks = (nBodies + BLOCK_SIZE - 1) / BLOCK_SIZE;
    bodyForce<<<nBlocks, BLOCK_SIZE>>>(pos, vel, dt, nBodies);
    integrate<<<nBlocks, BLOCK_SIZE>>>(pos, vel, dt, nBodies);
    cudaDeviceSynchronize();
}
