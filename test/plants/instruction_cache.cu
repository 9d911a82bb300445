// instruction-cache: more code in use than the instruction caches hold (128 KB an SM).
#include "plant.cuh"

// STEPS steps of a polynomial whose coefficients lie in the instructions, so no two parts are the same code.
template <int PART, int STEPS>
__device__ inline float unrolled(float s, float v) {
#pragma unroll
  for (int j = 0; j < STEPS; j++) s = s * v + ((j & 255) / 256.f + PART / 1024.f);
  return s;
}

// The same in one loop: what all coefficients of a part have in common is taken out first, and put back in the end.
template <int STEPS>
__device__ inline float rolled(float s, float v, int part) {
  const float common = __fdividef(part / 1024.f, 1 - v);
  s -= common;
#pragma unroll 1
  for (int k = 0; k < STEPS; k += 128) {
    if (k & 128) {
#pragma unroll
      for (int j = 128; j < 256; j++) s = s * v + j / 256.f;
    } else {
#pragma unroll
      for (int j = 0; j < 128; j++) s = s * v + j / 256.f;
    }
  }
  return s + common;
}

#define FOUR(MACRO, N) MACRO(N) MACRO(N + 1) MACRO(N + 2) MACRO(N + 3)
#define SIXTEEN(MACRO, N) FOUR(MACRO, N) FOUR(MACRO, N + 4) FOUR(MACRO, N + 8) FOUR(MACRO, N + 12)
#define SIXTY_FOUR(MACRO, N) \
  SIXTEEN(MACRO, N) SIXTEEN(MACRO, N + 16) SIXTEEN(MACRO, N + 32) SIXTEEN(MACRO, N + 48)

// unrolled_parts: 16 parts of 2048 steps, fully unrolled: 512 KB of FMAs. Every block runs 8 of them, from another one on,
// so those of an SM need different places of the code at a time.
// Fixed: one loop of 4 KB.
__device__ inline int first_part(unsigned block) { return block * 2654435761u >> 28; }

extern "C" __global__ void __launch_bounds__(128) unrolled_parts(const float *__restrict__ x, float *__restrict__ y) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  const float v = x[i];
  float s = v;
#pragma unroll 1
  for (int k = 0; k < 8; k++) {
    switch (first_part(blockIdx.x) + k & 15) {
#define PART(N)                   \
  case N:                         \
    s = unrolled<N, 2048>(s, v);  \
    break;
      SIXTEEN(PART, 0)
    }
  }
  y[i] = s;
}

extern "C" __global__ void __launch_bounds__(128) unrolled_parts_fixed(const float *__restrict__ x, float *__restrict__ y) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  const float v = x[i];
  float s = v;
#pragma unroll 1
  for (int k = 0; k < 8; k++) s = rolled<2048>(s, v, first_part(blockIdx.x) + k & 15);
  y[i] = s;
}

// interpreter: every warp follows its own program of 64 operations, each one of 256 pieces of code of 2 KB.
// Fixed: the operations are one piece of code with the operation's number as data.
extern "C" __global__ void __launch_bounds__(128)
    interpreter(const float *__restrict__ x, const int *__restrict__ program, float *__restrict__ y, int mask) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  const float v = x[i];
  float s = v;
#pragma unroll 1
  for (int k = 0; k < 64; k++) {
    switch (program[i / 32 * 64 + k & mask] & 255) {
#define OPERATION(N)             \
  case N:                        \
    s = unrolled<N, 128>(s, v);  \
    break;
      SIXTY_FOUR(OPERATION, 0)
      SIXTY_FOUR(OPERATION, 64)
      SIXTY_FOUR(OPERATION, 128)
      SIXTY_FOUR(OPERATION, 192)
    }
  }
  y[i] = s;
}

extern "C" __global__ void __launch_bounds__(128)
    interpreter_fixed(const float *__restrict__ x, const int *__restrict__ program, float *__restrict__ y, int mask) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  const float v = x[i];
  float s = v;
#pragma unroll 1
  for (int k = 0; k < 64; k++) s = rolled<128>(s, v, program[i / 32 * 64 + k & mask] & 255);
  y[i] = s;
}
