#include <cuda_fp16.h>
#ifndef BLOCK
#define BLOCK 128
#endif
#ifndef USE_FAST
#  define USE_FAST true
#endif
#define HELPER(x) \
  __global__ void x(float *p) { }

__device__ float square(float x) { return x * x; }

extern "C" __global__ void __launch_bounds__(BLOCK) attention(const half *__restrict__ q, const __half *k, const half *v,
                                          half *out, int S, int D, float scale) {
}

template <typename T, int TILE, bool FAST>
__global__ void __launch_bounds__(512, 2) reduce(const T *x, T *y, unsigned long long n) { }

__global__ void in_place(float4 *data, __nv_bfloat16 s) { }

static void launcher(float *x) { in_place<<<1, 1>>>((float4 *)x, 1); }

namespace fast {
namespace v2 {
__global__ void scan(const int *x, int *y, int n) { y[0] = x[0]; }
}
}
namespace {
__global__ void hidden(float *x, int n) { }
}
