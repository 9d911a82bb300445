// Kernels with right answers and something wrong with them. The test finds lines by
// their marks.
#define INDEX (blockIdx.x * (long)blockDim.x + threadIdx.x)

extern "C" {

__global__ void sound(const float *x, float *y, float *s, long n) {
    if (INDEX < n) y[INDEX] = 2 * x[INDEX];
}

// Reads one element that is not there, and makes no use of it.
__global__ void reads_past_end(const float *x, float *y, float *s, long n) {
    if (INDEX >= n) return;
    float over = INDEX == n - 1 ? ((const volatile float *)x)[n] : 0; // reads_past_end
    y[INDEX] = over == 12345.678f ? 0 : 2 * x[INDEX];
}

// Neighbours meet in shared memory, and nobody waits.
__global__ void races(const float *x, float *y, float *s, long n) {
    __shared__ volatile float tile[256];
    const int me = threadIdx.x;
    tile[me] = INDEX < n ? x[INDEX] : 0;
    float other = tile[me ^ 32]; // races
    if (INDEX < n) y[INDEX] = other == 12345.678f ? 0 : 2 * x[INDEX];
}

// What nobody has written to scratch.
__global__ void reads_nothing(const float *x, float *y, float *s, long n) {
    if (INDEX >= n) return;
    float left = ((const volatile float *)s)[0]; // reads_nothing
    y[INDEX] = left == 12345.678f ? 0 : 2 * x[INDEX];
}

// Half of a warp waits for the other half.
__global__ void diverges(const float *x, float *y, float *s, long n) {
    if (threadIdx.x % 32 < 16) __syncthreads(); // diverges
    if (INDEX < n) y[INDEX] = 2 * x[INDEX];
}

} // extern "C"
