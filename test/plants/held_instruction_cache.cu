// A held-out face of instruction-cache.
#include "plant.cuh"

// 256 rounds of a hash whose numbers lie in the instructions.
__device__ inline unsigned rounds(unsigned h, unsigned variant) {
#pragma unroll
  for (int i = 0; i < 256; i++) h = (h ^ variant ^ (i + 1) * 0x9e3779b9u) * 0x85ebca6bu;
  return h;
}

// The same with the variant's number in the instructions too; all variants are functions of their own.
template <unsigned VARIANT>
__device__ inline unsigned rounds_of(unsigned h) {
#pragma unroll
  for (int i = 0; i < 256; i++) h = (h ^ VARIANT ^ (i + 1) * 0x9e3779b9u) * 0x85ebca6bu;
  return h;
}

#define FOUR(MACRO, N) MACRO(N) MACRO(N + 1) MACRO(N + 2) MACRO(N + 3)
#define SIXTEEN(MACRO, N) FOUR(MACRO, N) FOUR(MACRO, N + 4) FOUR(MACRO, N + 8) FOUR(MACRO, N + 12)

// hash_variants: 64 variants of 8 KB, 512 KB of integer instructions. Every block goes through 16 of them, from another one
// on, so those of an SM need different places of the code at a time.
// Fixed: one piece of code with the variant's number as data.
__device__ inline unsigned first_variant(unsigned block) { return block * 2654435761u >> 26; }

extern "C" __global__ void __launch_bounds__(128) hash_variants(const unsigned *__restrict__ x, unsigned *__restrict__ y) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  unsigned h = x[i];
#pragma unroll 1
  for (int k = 0; k < 16; k++) {
    switch (first_variant(blockIdx.x) + k & 63) {
#define VARIANT(N)                        \
  case N:                                 \
    h = rounds_of<(N) * 0xc2b2ae35u>(h);  \
    break;
      SIXTEEN(VARIANT, 0)
      SIXTEEN(VARIANT, 16)
      SIXTEEN(VARIANT, 32)
      SIXTEEN(VARIANT, 48)
    }
  }
  y[i] = h;
}

extern "C" __global__ void __launch_bounds__(128) hash_variants_fixed(const unsigned *__restrict__ x, unsigned *__restrict__ y) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  unsigned h = x[i];
#pragma unroll 1
  for (int k = 0; k < 16; k++) h = rounds(h, (first_variant(blockIdx.x) + k & 63) * 0xc2b2ae35u);
  y[i] = h;
}
