#include <cstdio>
// Kernels that do what they should, and kernels that do not.
#include <assert.h>
#include <cooperative_groups.h>

#define INDEX (blockIdx.x * (long)blockDim.x + threadIdx.x)

extern "C" {

__global__ void good(const float *x, float *y, long n) { if (INDEX < n) y[INDEX] = 2 * x[INDEX]; }
__global__ void first(const float *x, float *y, long n) { if (INDEX < n) y[INDEX] = 3 * x[INDEX]; }
__global__ void last(const float *x, float *y, long n) { if (INDEX < n) y[INDEX] = 4 * x[INDEX]; }

__global__ void endless(const float *x, float *y, long n) {
    while (*(const volatile float *)x < 1e30f) y[INDEX < n ? INDEX : 0] = 1;
}
__global__ void illegal_address(const float *x, float *y, long n) { *(volatile float *)(4 * INDEX + 8) = x[0]; }
__global__ void misaligned(const float *x, float *y, long n) { *(volatile float *)((char *)y + 1) = x[0]; }
__global__ void past_end(const float *x, float *y, long n) {
    if (INDEX < n) y[INDEX] = x[INDEX];
    if (INDEX == 0) y[n] = 1;
}
__global__ void before_start(const float *x, float *y, long n) {
    if (INDEX < n) y[INDEX] = x[INDEX];
    if (INDEX == 0) y[-3] = 1;
}
__global__ void writes_nothing(const float *x, float *y, long n) { if (x[0] > 1e30f) y[0] = n; }
__global__ void asserts(const float *x, float *y, long n) { assert(x[0] > 1e30f); y[0] = n; }
__global__ void traps(const float *x, float *y, long n) { y[0] = n; asm volatile("trap;"); }

__device__ __noinline__ float deeper(float v, volatile float *up, long depth) {
    volatile float here[512];
    here[depth & 511] = v + up[0];
    return depth > (1 << 20) ? here[1] : deeper(here[depth & 511], here, depth + 1) + here[0];
}
__global__ void stack_overflow(const float *x, float *y, long n) {
    volatile float base[1] = {x[0]};
    y[INDEX < n ? INDEX : 0] = deeper(x[0], base, n & 1);
}

// More live values than 64 registers hold, which is all that 1024 threads have.
__global__ __launch_bounds__(256) void many_registers(const float *x, float *y, long n) {
    float v[200];
#pragma unroll
    for (int i = 0; i < 200; i++) v[i] = x[(INDEX + i * 37) % n];
#pragma unroll
    for (int r = 0; r < 4; r++)
#pragma unroll
        for (int i = 0; i < 200; i++) v[i] = v[i] * v[(i * 7 + r) % 200] + v[(i + 99) % 200];
    float sum = 0;
#pragma unroll
    for (int i = 0; i < 200; i++) sum += v[i];
    y[INDEX < n ? INDEX : 0] = sum;
}

__global__ void clustered(const float *x, float *y, long n) {
    auto cluster = cooperative_groups::this_cluster();
    cluster.sync();
    if (INDEX < n) y[INDEX] = x[INDEX] * cluster.num_blocks();
}

__global__ void cooperates(const float *x, float *y, long n) {
    for (long i = INDEX; i < n; i += (long)gridDim.x * blockDim.x) y[i] = x[i];
    cooperative_groups::this_grid().sync();
    if (INDEX == 0) y[0] = y[n - 1];
}

// Writes to what it may only read.
__global__ void changes_input(const float *x, float *y, long n) {
    if (INDEX < n) y[INDEX] = x[INDEX];
    if (INDEX == 7) ((float *)x)[7] += 1;
}

// Says so when the same address holds something else than last time.
__device__ float remembered;
__global__ void remembers(const float *x, float *y, long n) {
    if (INDEX < n) y[INDEX] = x[INDEX];
    if (INDEX == 0 && x[0] != remembered) {
        remembered = x[0];
        printf("new data\n");
    }
}

} // extern "C"
