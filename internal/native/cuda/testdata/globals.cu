// Variables of every kind that a kernel can keep something in. globals.cubin is
// this file, compiled by generate.sh.
extern "C" {
__device__ unsigned counter;
__device__ float table[256] = {1, 2, 3};
static __device__ unsigned long long hidden[5];
__constant__ float coefficients[4];
__device__ char odd[3] = {1, 2, 3};
}

namespace {
__device__ double unnamed = 3.5;
__device__ double zero;
} // namespace

__device__ unsigned *pointer = &counter;

// Counts in all of them, and tells what it found.
extern "C" __global__ void remember(double *found) {
    static __device__ int local;
    found[0] = counter++ + table[7]++ + hidden[3]++ + coefficients[1] + odd[2]++ + unnamed++ + zero++ + *pointer + local++;
}
