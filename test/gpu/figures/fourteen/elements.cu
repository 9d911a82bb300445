#include "common.h"

extern "C" __global__ void scale(const float *x, float *out, float a, long n) {
  CHECK(n);
  if (INDEX < n) out[INDEX] = a * x[INDEX];
}

extern "C" __global__ void saxpy(const float *x, const float *y, float *out, float a, long n) {
  CHECK(n);
  if (INDEX < n) out[INDEX] = a * x[INDEX] + y[INDEX];
}

extern "C" __global__ void add(const float *x, const float *y, float *out, long n) {
  CHECK(n);
  for (long i = INDEX; i < n; i += gridDim.x * (long)blockDim.x) out[i] = x[i] + y[i];
}

extern "C" __global__ void relu(const float4 *x, float4 *out, long n) {
  CHECK(n);
  if (INDEX >= n / 4) return;
  float4 v = x[INDEX];
  out[INDEX] = make_float4(fmaxf(v.x, 0), fmaxf(v.y, 0), fmaxf(v.z, 0), fmaxf(v.w, 0));
}

extern "C" __global__ void silu(const float *x, float *out, long n) {
  CHECK(n);
  if (INDEX < n) out[INDEX] = x[INDEX] / (1 + expf(-x[INDEX]));
}

extern "C" __global__ void smooth(const float *x, float *out, long n) {
  CHECK(n);
  if (INDEX >= n) return;
  float v = x[INDEX];
  for (int i = 0; i < 64; i++) v = 0.98f * v + 0.02f * v * v / (1 + v * v);
  out[INDEX] = v;
}
