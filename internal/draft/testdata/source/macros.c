#define EXPORT(type) __attribute__((visibility("default"))) type
#ifdef __cplusplus
extern "C" {
#endif
#if 0
void disabled(float *x, int n) { }
#else
EXPORT(void) exported(const float *x, float *tmp, float *result, int n) {
  for (int i = 0; i < n; i++) { tmp[i] = x[i]; result[i] = tmp[i]; }
}
#endif
struct point { float x, y; } *make_point(float *v) { v[0] = 1; v[0]++; return 0; }
/* reads without const, and only then writes */
void accumulate(float *in, float *sum, int n) {
  for (int i = 0; i < n; i++) sum[0] += in[i];
}
#ifdef __cplusplus
}
#endif
