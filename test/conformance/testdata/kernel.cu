// The conformance suite's kernel for cuda cells: honest in mode 0.
#include <stdint.h>
#include <stdio.h>

extern "C" __global__ void conformance(const float *in, float *out, int64_t n, float factor, int32_t mode) {
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] * factor;
    if (i != 0) return;
    switch (mode) {
    case 1:
        while (*(const volatile float *)in < 1e30f) {}
        break;
    case 2:
        out[n] = 1;
        break;
    case 3:
        *(volatile float *)8 = 1;
        break;
    case 5:
        printf("printed by the kernel\n");
        break;
    }
}
