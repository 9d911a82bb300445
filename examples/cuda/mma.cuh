// Tensor cores and asynchronous copies, each a single PTX instruction (sm_80 and later), for elements of 16 bits.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

typedef __nv_bfloat16 bf16;

// Byte offset of a 16-byte chunk in a shared tile with rows of COLS elements. The chunks of a row are permuted so that
// the eight rows that ldmatrix reads at once lie in different banks.
template <int COLS>
__device__ inline int chunk_at(int row, int chunk) {
  constexpr int CHUNKS = COLS / 8;
  constexpr int ROWS_PER_LINE = CHUNKS < 8 ? 8 / CHUNKS : 1; // a line is what all banks hold: 128 bytes
  constexpr int MASK = (CHUNKS < 8 ? CHUNKS : 8) - 1;
  static_assert((CHUNKS & (CHUNKS - 1)) == 0, "the width of a tile is a power of two");
  return (row * CHUNKS + (chunk ^ (row / ROWS_PER_LINE & MASK))) * 16;
}

__device__ inline unsigned shared_address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

// Copies 16 bytes to shared memory in the background, or fills them with zeros without reading anything.
__device__ inline void copy_async(unsigned to, const void *from, bool inside) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(inside ? 16 : 0) : "memory");
}

// Closes a group of copies; groups end in the order they were closed in.
__device__ inline void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Waits until at most PENDING groups of this thread are still under way.
template <int PENDING>
__device__ inline void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}

// Loads four 8x8 matrices; lane i gives the address of row i % 8 of matrix i / 8.
__device__ inline void load_matrices(unsigned (&r)[4], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}

__device__ inline void load_matrices_transposed(unsigned (&r)[4], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}

// c (16x8) += a (16x16) b (16x8). Lane i holds of c the columns 2 * (i % 4) and the next one: c[0] and c[1] in row
// i / 4, c[2] and c[3] eight rows below.
template <typename T>
__device__ void mma(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1);

template <>
__device__ inline void mma<half>(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

template <>
__device__ inline void mma<bf16>(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Two numbers rounded to T in one register, the first in the low half.
template <typename T>
__device__ unsigned pack(float low, float high);

template <>
__device__ inline unsigned pack<half>(float low, float high) {
  unsigned r;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  return r;
}

template <>
__device__ inline unsigned pack<bf16>(float low, float high) {
  unsigned r;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  return r;
}
