// Kernels that load tiles through a tensor map and trap where a tile differs from
// what plain loads give, so that a wrong map is a crash.
#include <cuda.h>
#include <stdint.h>

#define COLUMNS 64 // of a tile of 16-bit elements: rows of 128 bytes
#ifndef STEP
#define STEP 1 // rows of the buffer from one row of the tensor to the next
#endif

__device__ inline uint32_t shared_address(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }

// Where an element of the tile lies: with a swizzle of 128 bytes the eight chunks of
// a row change places from row to row.
__device__ inline int at(int row, int column) {
#ifdef SWIZZLED
    return row * COLUMNS + ((column / 8) ^ (row % 8)) * 8 + column % 8;
#else
    return row * COLUMNS + column;
#endif
}

__device__ inline uint16_t *begin(uint64_t *barrier, unsigned char *raw) {
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(barrier)) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(BLOCK * COLUMNS * 2) : "memory");
    }
    __syncthreads();
    return (uint16_t *)(raw + (1024 - shared_address(raw) % 1024) % 1024);
}

__device__ inline void wait(uint64_t *barrier) {
    for (uint32_t done = 0; !done;)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done) : "r"(shared_address(barrier)) : "memory");
}

// Compares a tile with rows of q that begin at from; those past the last are zero.
__device__ inline void check(const uint16_t *tile, const uint16_t *from, uint16_t *to, int rows, int width) {
    for (int i = threadIdx.x; i < BLOCK * COLUMNS; i += blockDim.x) {
        int row = i / COLUMNS, column = i % COLUMNS;
        long index = (long)row * STEP * width + column;
        uint16_t got = tile[at(row, column)];
        if (got != (row < rows ? from[index] : 0)) asm volatile("trap;");
        if (row < rows) to[index] = got;
    }
}

extern "C" __global__ void tile_3d(const __grid_constant__ CUtensorMap map, const uint16_t *q, uint16_t *out, int rows, int width) {
    extern __shared__ unsigned char raw[];
    __shared__ uint64_t barrier;
    uint16_t *tile = begin(&barrier, raw);
    int column = blockIdx.x * COLUMNS, row = blockIdx.y * BLOCK, batch = blockIdx.z;
    if (threadIdx.x == 0)
        asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];" ::"r"(
                         shared_address(tile)), "l"(&map), "r"(column), "r"(row), "r"(batch), "r"(shared_address(&barrier)) : "memory");
    wait(&barrier);
    long start = ((long)batch * rows + row) * STEP * width + column;
    check(tile, q + start, out + start, rows - row, width);
}

extern "C" __global__ void tile_2d(const __grid_constant__ CUtensorMap map, const uint16_t *q, uint16_t *out, int rows, int width) {
    extern __shared__ unsigned char raw[];
    __shared__ uint64_t barrier;
    uint16_t *tile = begin(&barrier, raw);
    int column = blockIdx.x * COLUMNS, row = blockIdx.y * BLOCK;
    if (threadIdx.x == 0)
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
                         shared_address(tile)), "l"(&map), "r"(column), "r"(row), "r"(shared_address(&barrier)) : "memory");
    wait(&barrier);
    long start = (long)row * STEP * width + column;
    check(tile, q + start, out + start, rows - row, width);
}
