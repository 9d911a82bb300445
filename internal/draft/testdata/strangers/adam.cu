// An optimizer step: four buffers that are read and written, floats that main chooses.
// want adam_kernel: grid 2048, block 512, params_memory 1048576, grads_memory 1048576, m_memory 1048576, v_memory 1048576
#include <cuda_runtime.h>
#include <math.h>
#include "common.h"
__device__ inline float mix(float start, float end, float weight) { return fma(weight, end, fma(-weight, start, start)); }
__global__ void adam_kernel(float *params_memory, const float *grads_memory, float *m_memory, float *v_memory, long num_parameters,
                            float learning_rate, float beta1, float beta2, float beta1_correction, float beta2_correction, float eps, float weight_decay) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= num_parameters) return;
    float grad = grads_memory[i];
    float m = m_memory[i];
    float v = v_memory[i];
    m = mix(grad, m, beta1);
    m_memory[i] = m;
    v = mix(grad * grad, v, beta2);
    v_memory[i] = v;
    m /= beta1_correction;
    v /= beta2_correction;
    params_memory[i] -= learning_rate * (m / (sqrtf(v) + eps) + weight_decay * params_memory[i]);
}
void adam(float *params_memory, const float *grads_memory, float *m_memory, float *v_memory, int t, long num_parameters, float learning_rate = 1e-3f, float beta1 = 0.9f, float beta2 = 0.999f, float eps = 1e-8f, float weight_decay = 0.0f) {
    float beta1_correction = 1.0f - powf(beta1, t);
    float beta2_correction = 1.0f - powf(beta2, t);
    unsigned int block_size = 512;
    unsigned int num_blocks = ceil_div(num_parameters, (long)block_size);
    adam_kernel<<<num_blocks, block_size>>>(params_memory, grads_memory, m_memory, v_memory, num_parameters, learning_rate, beta1, beta2, beta1_correction, beta2_correction, eps, weight_decay);
}
int main() {
    const long num_parameters = 1048576;
    const int t = 10;
    const float learning_rate = 1e-3f;
    const float beta1 = 0.9f;
    const float beta2 = 0.999f;
    const float eps = 1e-8f;
    const float weight_decay = 0.0f;
    float *d_params, *d_grads, *d_m, *d_v;
    cudaCheck(cudaMalloc((void **)&d_params, num_parameters * sizeof(float)));
    cudaCheck(cudaMalloc((void **)&d_grads, num_parameters * sizeof(float)));
    cudaCheck(cudaMalloc((void **)&d_m, num_parameters * sizeof(float)));
    cudaCheck(cudaMalloc((void **)&d_v, num_parameters * sizeof(float)));
    adam(d_params, d_grads, d_m, d_v, t, num_parameters, learning_rate, beta1, beta2, eps, weight_decay);
}
