// Small kernels for the tests on a GPU; see generate.sh.
#include <assert.h>

__device__ int table[4] = {2, 3, 5, 7};

extern "C" __global__ void axpy(float *y, const float *x, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}

// Every size that a scalar may have, the small ones between large ones.
extern "C" __global__ void scalars(double *out, signed char a, double b, short c, long long d, unsigned char e, float f) {
    out[0] = a;
    out[1] = b;
    out[2] = c;
    out[3] = d;
    out[4] = e;
    out[5] = f;
}

extern "C" __global__ void geometry(unsigned *out) {
    unsigned shared;
    asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(shared));
    if (blockIdx.x + blockIdx.y + blockIdx.z + threadIdx.x + threadIdx.y + threadIdx.z == 0) {
        out[0] = gridDim.x, out[1] = gridDim.y, out[2] = gridDim.z;
        out[3] = blockDim.x, out[4] = blockDim.y, out[5] = blockDim.z;
        out[6] = shared;
    }
}

// Turns round an array that must fit in shared memory.
extern "C" __global__ void reverse(int *data, int n) {
    extern __shared__ int tile[];
    for (int i = threadIdx.x; i < n; i += blockDim.x) tile[i] = data[i];
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) data[i] = tile[n - 1 - i];
}

// Waits for the host, but no longer than it was told to; says which it was.
extern "C" __global__ void spin(const volatile unsigned *flag, unsigned *released, unsigned long long nanoseconds) {
    unsigned long long start, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
    do {
        if (*flag) {
            *released = 1;
            return;
        }
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    } while (now - start < nanoseconds);
    *released = 2;
}

// Each block waits for all others: this ends only if they run at once.
extern "C" __global__ void meet(unsigned *arrived) {
    if (threadIdx.x == 0) {
        atomicAdd(arrived, 1);
        while (atomicAdd(arrived, 0) < gridDim.x) {
        }
    }
}

extern "C" __global__ void work(float *out, int rounds) {
    float v = threadIdx.x;
    for (int i = 0; i < rounds; i++) v = v * 1.0001f + 0.5f;
    out[blockIdx.x * blockDim.x + threadIdx.x] = v;
}

extern "C" __global__ void stray(int *p) { *p = 1; }

extern "C" __global__ void misaligned(char *p) { *(volatile long long *)(p + 1) = 1; }

extern "C" __global__ void doubtful(int n) { assert(n > 0); }

extern "C" __global__ void trapped() { asm volatile("trap;"); }
