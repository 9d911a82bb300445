// Reductions over the threads of a block, and vectors that are loaded and stored whole.
#pragma once

template <typename T, int N>
struct alignas(sizeof(T) * N) Vector {
  T at[N];
};

struct Add {
  template <typename T>
  __device__ T operator()(T a, T b) const {
    return a + b;
  }
};

struct Max {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

template <typename T, typename Operation>
__device__ inline T warp_reduce(T value, Operation operation) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    value = operation(value, __shfl_xor_sync(0xffffffffu, value, distance));
  }
  return value;
}

// Every thread gets the result. THREADS is a multiple of 32, at most 1024.
template <int THREADS, typename T, typename Operation>
__device__ inline T block_reduce(T value, Operation operation) {
  constexpr int WARPS = THREADS / 32;
  static_assert(THREADS % 32 == 0 && WARPS <= 32, "a block of whole warps");
  __shared__ T of_warp[WARPS];
  value = warp_reduce(value, operation);
  __syncthreads(); // the results of an earlier call have been read
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
  __syncthreads();
  value = of_warp[0];
#pragma unroll
  for (int warp = 1; warp < WARPS; warp++) value = operation(value, of_warp[warp]);
  return value;
}
