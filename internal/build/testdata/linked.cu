// Kernels that are linked with the functions of library.cu. With POINTERS, one calls them through a table.
extern __device__ float outer(float x);
extern __device__ float lonely(float x);
extern "C" __global__ void direct(float *x) { x[0] = outer(x[1]); }
extern "C" __global__ void other(float *x) { x[0] = lonely(x[1]); }
extern "C" __global__ void plain(float *x) { x[0] = x[1] * 3; }
#ifdef POINTERS
typedef float (*function)(float);
__device__ function table[2] = {outer, lonely};
extern "C" __global__ void indirect(float *x, int n) { x[0] = table[n](x[1]); }
#endif
