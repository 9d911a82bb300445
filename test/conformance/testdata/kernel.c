/* The conformance suite's kernel for host cells: honest in mode 0. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

void conformance(const float *in, float *out, int64_t n, float factor, int32_t mode) {
    for (int64_t i = 0; i < n; i++) out[i] = in[i] * factor;
    switch (mode) {
    case 1:
        for (volatile int forever = 1; forever;) {}
        break;
    case 2:
        out[n] = 1;
        break;
    case 3:
        *(volatile float *volatile)0 = 1;
        break;
    case 4:
        exit(5);
    case 5:
        puts("printed by the kernel");
        break;
    }
}
