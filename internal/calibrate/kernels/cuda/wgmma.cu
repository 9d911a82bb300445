// How many multiply-adds Hopper's tensor cores start through wgmma, which mma.sync
// cannot keep busy: m64n256, 32 bytes of both operands deep, from shared memory.

#define REGISTERS                                                                                                                                    \
    "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,"                        \
    "%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63,"               \
    "%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95,"               \
    "%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111,%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%" \
    "125,%126,%127}"
#define SUM4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define SUM16(i) SUM4(i), SUM4(i + 4), SUM4(i + 8), SUM4(i + 12)
#define SUMS SUM16(0), SUM16(16), SUM16(32), SUM16(48), SUM16(64), SUM16(80), SUM16(96), SUM16(112)

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define WGMMA(shape_and_types, more)                                                                                                              \
    asm volatile("wgmma.mma_async.sync.aligned." shape_and_types " " REGISTERS ", %128, %129, 1, 1, 1" more ";" : SUMS : "l"(a), "l"(b) : "memory")
#else
#define WGMMA(shape_and_types, more) __trap()
#endif

struct F16 {
    static __device__ void multiply(float *d, unsigned long a, unsigned long b) { WGMMA("m64n256k16.f32.f16.f16", ", 0, 0"); }
};
struct BF16 {
    static __device__ void multiply(float *d, unsigned long a, unsigned long b) { WGMMA("m64n256k16.f32.bf16.bf16", ", 0, 0"); }
};
struct TF32 {
    static __device__ void multiply(float *d, unsigned long a, unsigned long b) { WGMMA("m64n256k8.f32.tf32.tf32", ""); }
};
struct E4M3 {
    static __device__ void multiply(float *d, unsigned long a, unsigned long b) { WGMMA("m64n256k32.f32.e4m3.e4m3", ""); }
};

constexpr int ROW = 128; // bytes; four products deep, and the width of the swizzle

// descriptor of rows of 128 bytes, swizzled: groups of eight rows lie 1024 bytes
// apart. The distance along a row is not used with this swizzle.
__device__ unsigned long descriptor(const void *shared) {
    const unsigned long address = __cvta_generic_to_shared(shared);
    return (address & 0x3ffff) >> 4 | 1ul << 16 | (1024ul >> 4) << 32 | 1ul << 62;
}

// Two warpgroups a block: while one waits for its products, the other's run.
template <class Product>
__global__ void __launch_bounds__(256, 1) wgmma_chains(const unsigned *x, float *out, int rounds) {
    __shared__ alignas(1024) unsigned char a[64 * ROW], b[256 * ROW];
    for (int i = threadIdx.x; i < 64 * ROW / 4; i += 256) ((unsigned *)a)[i] = x[i];
    for (int i = threadIdx.x; i < 256 * ROW / 4; i += 256) ((unsigned *)b)[i] = x[64 * ROW / 4 + i];
    float d[128];
#pragma unroll
    for (int i = 0; i < 128; i++) d[i] = 0;
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); // the tensor cores read what ordinary stores wrote
    __syncthreads();
    const unsigned long left = descriptor(a), right = descriptor(b);
#pragma unroll 1
    for (int r = 0; r < rounds; r++) {
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
        for (int k = 0; k < 16; k++) Product::multiply(d, left + 2 * (k % 4), right + 2 * (k % 4));
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    }
#else
    __trap();
#endif
    float total = 0;
#pragma unroll
    for (int i = 0; i < 128; i++) total += d[i];
    out[blockIdx.x * 256 + threadIdx.x] = total;
}
