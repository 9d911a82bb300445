#include <stdio.h>
#include <stdlib.h>
#include <cuda_bf16.h>
#define WARP_SIZE 32U
template <class T> T ceil_div(T a, T b) { return (a + b - 1) / b; }
__device__ inline float sum_of_warp(float v) {
    for (int o = 16; o > 0; o /= 2) v += __shfl_xor_sync(0xffffffff, v, o);
    return v;
}
template <class T> struct alignas(16) Pack {
    static constexpr const int size = 16 / sizeof(T);
    T v[size];
    __device__ T &operator[](int i) { return v[i]; }
};
template <class T> __device__ Pack<T> load_pack(const T *p) { return *reinterpret_cast<const Pack<T> *>(p); }
template <class T> __device__ void store_pack(T *p, Pack<T> v) { *reinterpret_cast<Pack<T> *>(p) = v; }
inline void cuda_check(cudaError_t e) { if (e != cudaSuccess) exit(1); }
#define cudaCheck(e) cuda_check(e)
float *random_floats(size_t n);
