// The kernels of the figures: one bound by memory, one by arithmetic.
extern "C" __global__ void scale(const float *x, float *y, float a, long n) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + 1.0f;
}

extern "C" __global__ void fma_chain(const float *x, float *y, int rounds) {
    float v = x[threadIdx.x & 31];
    for (int i = 0; i < rounds; i++) v = v * 1.0001f + 0.5f;
    y[blockIdx.x * blockDim.x + threadIdx.x] = v;
}
