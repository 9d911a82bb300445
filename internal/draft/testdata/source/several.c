typedef double real;
void scale(real *data, int n, real factor)
{
    for (int i = 0; i < n; i++) data[i] *= factor;
}

int gather(const float x[], const int *idx, float out[], unsigned rows, unsigned cols, _Bool causal) { return 0; }

void swap_all(float *first, float *second, long n) { }

void matmul(const float *a, const float *b, float *c, int m, int n, int k) { }

void opaque(struct state *s, void *raw, const my_type *t, int8_t small, float x) { }

void nothing(void) { }
void callback(void (*f)(int), float *x) { }
void matrix(float **rows, int n) { }
int variadic(float *x, ...) { return 0; }
void many(float *x, int a, int b, int c, int d, int e, int f, int g, int h, int i, int j) { }
void old_style(x, n) float *x; int n; { }
void unnamed(const float *, float *, int) { }
