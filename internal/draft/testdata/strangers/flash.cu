// Attention with shared memory on request, all sizes constants of main.
// want attend: grid 16x12, block 32, shared 28672, Q 786432, K 786432, V 786432, O 786432, todo 0, oracle attention
#include <cuda_runtime.h>
#include <math.h>
__global__ void attend(const float *Q, const float *K, const float *V, const int N, const int d, const int Tc, const int Tr, const int Bc, const int Br, const float softmax_scale, float *O) {
    int tx = threadIdx.x;
    int bx = blockIdx.x, by = blockIdx.y;
    int start = (bx * gridDim.y * N * d) + (by * N * d);
    extern __shared__ float sram[];
    int tile = Bc * d;
    float *Kj = sram, *Vj = &sram[tile], *S = &sram[tile * 2];
    for (int i = 0; i < Tr; i++) {
        float m = -INFINITY, l = 0.0f;
        float acc[64];
        for (int x = 0; x < d; x++) acc[x] = 0.0f;
        for (int j = 0; j < Tc; j++) {
            for (int x = 0; x < d; x++) {
                Kj[(tx * d) + x] = K[start + (tile * j) + (tx * d) + x];
                Vj[(tx * d) + x] = V[start + (tile * j) + (tx * d) + x];
            }
            __syncthreads();
            float row_m = m;
            for (int y = 0; y < Bc; y++) {
                float sum = 0;
                for (int x = 0; x < d; x++) sum += Q[start + (tile * i) + (tx * d) + x] * Kj[(y * d) + x];
                S[(Bc * tx) + y] = sum * softmax_scale;
                row_m = fmaxf(row_m, S[(Bc * tx) + y]);
            }
            float old = __expf(m - row_m);
            l *= old;
            for (int x = 0; x < d; x++) acc[x] *= old;
            for (int y = 0; y < Bc; y++) {
                float p = __expf(S[(Bc * tx) + y] - row_m);
                l += p;
                for (int x = 0; x < d; x++) acc[x] += p * Vj[(y * d) + x];
            }
            m = row_m;
            __syncthreads();
        }
        for (int x = 0; x < d; x++) O[start + (tile * i) + (tx * d) + x] = acc[x] / l;
    }
}
int main() {
    const int B = 16, nh = 12, N = 64, d = 64;
    const int Bc = 32, Br = 32;
    const int Tc = ceil((float)N / Bc);
    const int Tr = ceil((float)N / Br);
    const float softmax_scale = 1.0 / sqrt(d);
    float *Q, *K, *V, *O;
    cudaMalloc(&Q, B * nh * N * d * sizeof(float));
    cudaMalloc(&K, B * nh * N * d * sizeof(float));
    cudaMalloc(&V, B * nh * N * d * sizeof(float));
    cudaMalloc(&O, B * nh * N * d * sizeof(float));
    const int sram_size = (3 * Bc * d * sizeof(float)) + (Bc * Br * sizeof(float));
    dim3 grid_dim(B, nh);
    dim3 block_dim(Bc);
    cudaFuncSetAttribute(attend, cudaFuncAttributeMaxDynamicSharedMemorySize, sram_size);
    attend<<<grid_dim, block_dim, sram_size>>>(Q, K, V, N, d, Tc, Tr, Bc, Br, softmax_scale, O);
}
