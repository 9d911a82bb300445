// Functions that kernels in another file call, each in a section of its own.
__device__ int state = 7;
__device__ __noinline__ float inner(float x) { return x * state; }
__device__ __noinline__ float outer(float x) { return inner(x) + 1; }
__device__ __noinline__ float lonely(float x) { return x > 3 ? sqrtf(x) : 1; }
