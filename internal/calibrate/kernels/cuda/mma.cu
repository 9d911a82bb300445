// How many multiply-adds the tensor cores start through mma.sync: CHAINS
// independent products a warp. The operands come from memory; which element lies
// in which register does not matter here.

struct F16 { // f16 into f32
    static constexpr int A = 4, B = 2, C = 4;
    using Operand = unsigned;
    using Sum = float;
    static __device__ void multiply(Sum *c, const Operand *a, const Operand *b) {
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    }
};

struct F16Narrow { // f16 into f16: twice as fast on some devices
    static constexpr int A = 4, B = 2, C = 2;
    using Operand = unsigned;
    using Sum = unsigned;
    static __device__ void multiply(Sum *c, const Operand *a, const Operand *b) {
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%0,%1};"
                     : "+r"(c[0]), "+r"(c[1])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    }
};

struct BF16 {
    static constexpr int A = 4, B = 2, C = 4;
    using Operand = unsigned;
    using Sum = float;
    static __device__ void multiply(Sum *c, const Operand *a, const Operand *b) {
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    }
};

struct TF32 {
    static constexpr int A = 4, B = 2, C = 4;
    using Operand = unsigned;
    using Sum = float;
    static __device__ void multiply(Sum *c, const Operand *a, const Operand *b) {
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    }
};

struct E4M3 { // sm_89 and later
    static constexpr int A = 4, B = 2, C = 4;
    using Operand = unsigned;
    using Sum = float;
    static __device__ void multiply(Sum *c, const Operand *a, const Operand *b) {
#if __CUDA_ARCH__ >= 890
        asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
        __trap();
#endif
    }
};

struct F64 {
    static constexpr int A = 1, B = 1, C = 2;
    using Operand = double;
    using Sum = double;
    static __device__ void multiply(Sum *c, const Operand *a, const Operand *b) {
        asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};" : "+d"(c[0]), "+d"(c[1]) : "d"(a[0]), "d"(b[0]));
    }
};

struct F64Wide { // sm_90 and later
    static constexpr int A = 8, B = 4, C = 4;
    using Operand = double;
    using Sum = double;
    static __device__ void multiply(Sum *c, const Operand *a, const Operand *b) {
#if __CUDA_ARCH__ >= 900
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7,%8,%9,%10,%11}, {%12,%13,%14,%15}, {%0,%1,%2,%3};"
                     : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
                     : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]), "d"(b[0]), "d"(b[1]), "d"(b[2]), "d"(b[3]));
#else
        __trap();
#endif
    }
};

template <class Product, int CHAINS>
__global__ void mma_chains(const typename Product::Operand *x, typename Product::Sum *out, int rounds) {
    typename Product::Operand a[Product::A], b[Product::B];
    typename Product::Sum c[CHAINS][Product::C] = {};
#pragma unroll
    for (int i = 0; i < Product::A; i++) a[i] = x[i * 32 + threadIdx.x % 32];
#pragma unroll
    for (int i = 0; i < Product::B; i++) b[i] = x[(Product::A + i) * 32 + threadIdx.x % 32];
    for (int r = 0; r < rounds; r++) {
#pragma unroll
        for (int k = 0; k < CHAINS; k++) Product::multiply(c[k], a, b);
    }
    typename Product::Sum total = 0;
#pragma unroll
    for (int k = 0; k < CHAINS; k++) {
#pragma unroll
        for (int i = 0; i < Product::C; i++) total += c[k][i];
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = total;
}
