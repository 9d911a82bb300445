// Kernels for what came with compute capability 9.0; see generate.sh.
typedef unsigned long long u64;

struct alignas(64) TensorMap {
    u64 opaque[16];
};

// Where each block stands in its cluster.
extern "C" __global__ void ranks(unsigned *out) {
    unsigned rank, size;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
    if (threadIdx.x == 0) out[blockIdx.x] = size << 16 | rank;
}

extern "C" __global__ void first(int *data) {
    asm volatile("griddepcontrol.launch_dependents;");
    data[threadIdx.x] = threadIdx.x;
}

// May start before first has ended, and waits for what it wrote.
extern "C" __global__ void second(const int *data, int *out) {
    asm volatile("griddepcontrol.wait;" ::: "memory");
    out[threadIdx.x] = 2 * data[threadIdx.x];
}

// Copies the 16 x 16 tile of floats at (x, y).
extern "C" __global__ void tile(const __grid_constant__ TensorMap map, float *out, int x, int y) {
    __shared__ alignas(128) float box[256];
    __shared__ alignas(8) u64 barrier;
    unsigned target = (unsigned)__cvta_generic_to_shared(box), bar = (unsigned)__cvta_generic_to_shared(&barrier);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(bar) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 1024;" ::"r"(bar) : "memory");
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(target),
                     "l"(&map), "r"(x), "r"(y), "r"(bar)
                     : "memory");
    }
    __syncthreads();
    unsigned done;
    do {
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(bar) : "memory");
    } while (!done);
    for (int i = threadIdx.x; i < 256; i += blockDim.x) out[i] = box[i];
}
