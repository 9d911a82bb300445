// How fast memory and the caches deliver to one core. Reads go into ACCUMULATORS
// independent sums of VECTOR bytes, so that none waits for the last.
#include <string.h>

typedef float vector __attribute__((vector_size(VECTOR), aligned(4), may_alias));

enum { LANES = VECTOR / sizeof(float), ACCUMULATORS = 8 };

static float sum(const float *from, long n) {
    vector total[ACCUMULATORS] = {};
    for (long i = 0; i + ACCUMULATORS * LANES <= n; i += ACCUMULATORS * LANES)
        for (int k = 0; k < ACCUMULATORS; k++) total[k] += *(const vector *)(from + i + k * LANES);
    float result = 0;
    for (int k = 0; k < ACCUMULATORS; k++)
        for (int lane = 0; lane < LANES; lane++) result += total[k][lane];
    return result;
}

void read_again(const float *from, float *out, long n, long passes) {
    float result = 0;
    for (long pass = 0; pass < passes; pass++) {
        result += sum(from, n);
        __asm__ volatile("" ::: "memory"); // the next pass reads again
    }
    *out = result;
}

// The library's copy knows when to write past the caches.
void copy_library(const float *from, float *to, long n) { memcpy(to, from, n * sizeof(float)); }

void copy_plain(const float *from, float *to, long n) {
    for (long i = 0; i + LANES <= n; i += LANES) {
        *(vector *)(to + i) = *(const vector *)(from + i);
        __asm__ volatile("" ::: "memory"); // or the compiler calls the library
    }
}
