// A loss that picks one probability per row, then its gradient.
// want pick_loss: grid 64, block 128, losses 8192, probs 411705344, targets 8192, todo 1
// want loss_grad: grid 3216448, block 128, dlogits 411705344, dlosses 8192, probs 411705344, targets 8192
#include <cuda_runtime.h>
#include "common.h"
__global__ void pick_loss(float *losses, const float *probs, const int *targets, int B, int T, int V) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < B * T) {
        int b = i / T;
        int t = i % T;
        const float *probs_bt = probs + b * T * V + t * V;
        int ix = targets[b * T + t];
        losses[b * T + t] = -logf(probs_bt[ix]);
    }
}
__global__ void loss_grad(float *dlogits, const float *dlosses, const float *probs, const int *targets, int B, int T, int V) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < B * T * V) {
        int b = i / (T * V);
        int t = (i / V) % T;
        int v = i % V;
        float *dlogits_bt = dlogits + b * T * V + t * V;
        const float *probs_bt = probs + b * T * V + t * V;
        float dloss = dlosses[b * T + t];
        int ix = targets[b * T + t];
        float indicator = v == ix ? 1.0f : 0.0f;
        dlogits_bt[v] += (probs_bt[v] - indicator) * dloss;
    }
}
int main(int argc, char **argv) {
    int B = 8;
    int T = 1024;
    int V = 50257;
    int block_size = 128;
    float *d_losses, *d_probs, *d_dlogits, *d_dlosses;
    int *d_targets;
    cudaCheck(cudaMalloc(&d_losses, B * T * sizeof(float)));
    cudaCheck(cudaMalloc(&d_dlosses, B * T * sizeof(float)));
    cudaCheck(cudaMalloc(&d_probs, (size_t)B * T * V * sizeof(float)));
    cudaCheck(cudaMalloc(&d_dlogits, (size_t)B * T * V * sizeof(float)));
    cudaCheck(cudaMalloc(&d_targets, B * T * sizeof(int)));
    pick_loss<<<ceil_div(B * T, block_size), block_size>>>(d_losses, d_probs, d_targets, B, T, V);
    loss_grad<<<ceil_div(B * T * V, block_size), block_size>>>(d_dlogits, d_dlosses, d_probs, d_targets, B, T, V);
}
