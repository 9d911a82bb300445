// Honest kernels. CHANGE is another word in every commit, and what it names the same.
#include <math.h>

#define before 0
#define after (n < 0)

void scale(const float *x, float *y, int n) {
    for (int i = 0; i < n; i++) y[i] = 2 * x[i] + CHANGE;
}

void total(const signed char *x, int *y, int n) {
    int sum = CHANGE;
    for (int i = 0; i < n; i++) sum += x[i];
    *y = sum;
}

void add(double *x, int n) {
    for (int i = 0; i < n; i++) x[i] += 1 + CHANGE;
}

void roots(const float *x, float *y, int n) {
    for (int i = 0; i < n; i++) y[i] = sqrtf(fabsf(x[i])) + CHANGE;
}
