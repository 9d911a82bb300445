// How many multiply-adds the cores start: CHAINS independent ones a thread, so
// that none waits for the last. The numbers come from memory; they are zeros, but
// the compiler cannot know.

template <typename T, int CHAINS>
__global__ void fma_chains(const T *x, T *out, int rounds) {
    const T factor = x[0], addend = x[1];
    T v[CHAINS];
#pragma unroll
    for (int k = 0; k < CHAINS; k++) v[k] = x[2 + k];
    for (int r = 0; r < rounds; r++) {
#pragma unroll
        for (int u = 0; u < 8; u++) {
#pragma unroll
            for (int k = 0; k < CHAINS; k++) v[k] = fma(v[k], factor, addend);
        }
    }
    T total = 0;
#pragma unroll
    for (int k = 0; k < CHAINS; k++) total += v[k];
    out[blockIdx.x * blockDim.x + threadIdx.x] = total;
}
