#include <stddef.h>

#ifndef UNROLL
#define UNROLL 4 /* tunable */
#endif
#ifndef SAXPY_H
#define SAXPY_H
#endif

static void helper(float *x) { x[0] = 1; }
inline float twice(const float *x) { return *x * 2; }
void declared_only(float *x, int n);
int main(int argc, char **argv) { return 0; }
int counter = 0;
float table[] = {1, 2, 3};
struct pair { float a, b; };

/* y = a*x + y; "void fake(float *x) {" stays a comment */
void saxpy(size_t n, float a, const float *restrict x, float *restrict y) {
  const char *s = "void fake(float *p) {";
  char c = '{';
  for (size_t i = 0; i < n; i++)
    y[i] += a * x[i];
}
