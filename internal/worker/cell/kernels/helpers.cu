// The cell's own kernels: inputs, poison, cache flush, stamps, the blocker, and
// hashes. Compiled to PTX (make helpers), which the binary embeds,
// so that a machine with only a driver can run them.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <stdint.h>

namespace {

// The generator of package oracle, bit for bit.
constexpr uint64_t kGolden = 0x9e3779b97f4a7c15ull;

__device__ uint64_t mix(uint64_t z) {
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

__device__ uint64_t draw(uint64_t key, uint64_t n) { return mix(key + (n + 1) * kGolden); }

enum Kind { kNormal, kUniform, kIntegers, kConstant, kIota, kRows, kOutliers, kSpecials };

enum DType { kF64, kF32, kF16, kBF16, kE4M3, kE5M2, kI8, kI16, kI32, kI64, kU8, kU16, kU32, kU64 };

// What a buffer is filled with.
struct Fill {
    int kind;
    uint64_t key;
    double a, b;    // mean and std, low and high, or the constant
    double factor;  // of outliers
    int64_t low;    // of integers, or an integer type's constant
    uint64_t range; // of integers: how many; of rows and outliers the width, of specials every how many
    uint64_t mask;  // of iota
};

// The bits of NaN, both infinities, -0, the smallest positive number and the
// greatest of each floating-point type; oracle's specialBits.
__constant__ uint64_t kSpecialBits[6][6] = {
    {0x7ff8000000000000, 0x7ff0000000000000, 0xfff0000000000000, 0x8000000000000000, 1, 0x7fefffffffffffff},
    {0x7fc00000, 0x7f800000, 0xff800000, 0x80000000, 1, 0x7f7fffff},
    {0x7e00, 0x7c00, 0xfc00, 0x8000, 1, 0x7bff},
    {0x7fc0, 0x7f80, 0xff80, 0x8000, 1, 0x7f7f},
    {0x7f, 0x7e, 0xfe, 0x80, 1, 0x7e},
    {0x7e, 0x7c, 0xfc, 0x80, 1, 0x7b},
};

__device__ bool outlier(const Fill &fill, uint64_t i) {
    return fill.kind == kOutliers && i % fill.range % 16 == draw(fill.key, ~uint64_t(0)) % 16;
}

__device__ double generate64(const Fill &fill, uint64_t i) {
    uint64_t key = fill.key;
    double a = fill.a, b = fill.b;
    switch (fill.kind) {
    case kNormal: case kRows: case kOutliers: case kSpecials: {
        uint64_t n = fill.kind == kRows ? i / fill.range : i;
        int64_t sum = -4 * ((int64_t(1) << 32) - 1);
        for (int d = 0; d < 4; d++) {
            uint64_t u = draw(key, 4 * n + d);
            sum += int64_t(u >> 32) + int64_t(uint32_t(u));
        }
        double z = __dmul_rn(double(sum), __longlong_as_double(0x3df3988e1409212ell));
        double v = __dadd_rn(__dmul_rn(z, b), a);
        return outlier(fill, i) ? __dmul_rn(v, fill.factor) : v;
    }
    case kUniform: {
        double x = double(int64_t(draw(key, i) >> 11)) * 0x1p-53;
        return __dadd_rn(__dmul_rn(__dsub_rn(b, a), x), a);
    }
    }
    return a;
}

__device__ float generate32(const Fill &fill, uint64_t i) {
    uint64_t key = fill.key;
    float a = float(fill.a), b = float(fill.b);
    switch (fill.kind) {
    case kNormal: case kRows: case kOutliers: case kSpecials: {
        uint64_t n = fill.kind == kRows ? i / fill.range : i;
        int32_t sum = -262140;
        for (int d = 0; d < 2; d++) {
            uint64_t u = draw(key, 2 * n + d);
            sum += int32_t(u & 0xffff) + int32_t(u >> 16 & 0xffff) + int32_t(u >> 32 & 0xffff) + int32_t(u >> 48);
        }
        float z = __fmul_rn(float(sum), __int_as_float(0x379cc471));
        float v = __fadd_rn(__fmul_rn(z, b), a);
        return outlier(fill, i) ? __fmul_rn(v, float(fill.factor)) : v;
    }
    case kUniform: {
        float x = float(int32_t(draw(key, i) >> 40)) * 0x1p-24f;
        return __fadd_rn(__fmul_rn(__fsub_rn(b, a), x), a);
    }
    }
    return a;
}

__device__ void store(void *dst, uint64_t i, int dtype, float v) {
    switch (dtype) {
    case kF32: static_cast<float *>(dst)[i] = v; break;
    case kF16: static_cast<__half *>(dst)[i] = __float2half_rn(v); break;
    case kBF16: static_cast<__nv_bfloat16 *>(dst)[i] = __float2bfloat16_rn(v); break;
    case kE4M3: static_cast<uint8_t *>(dst)[i] = __nv_cvt_float_to_fp8(v, __NV_SATFINITE, __NV_E4M3); break;
    case kE5M2: static_cast<uint8_t *>(dst)[i] = __nv_cvt_float_to_fp8(v, __NV_SATFINITE, __NV_E5M2); break;
    }
}

// Bits of a type, an integer one or not.
__device__ void store(void *dst, uint64_t i, int dtype, int64_t v) {
    switch (dtype) {
    case kI8: case kU8: case kE4M3: case kE5M2: static_cast<int8_t *>(dst)[i] = int8_t(v); break;
    case kI16: case kU16: case kF16: case kBF16: static_cast<int16_t *>(dst)[i] = int16_t(v); break;
    case kI32: case kU32: case kF32: static_cast<int32_t *>(dst)[i] = int32_t(v); break;
    case kI64: case kU64: case kF64: static_cast<int64_t *>(dst)[i] = v; break;
    }
}

// put stores element number n of a fill as element i.
__device__ void put(void *dst, uint64_t i, int dtype, const Fill &fill, uint64_t n) {
    if (fill.kind == kSpecials) {
        uint64_t u = draw(mix(fill.key), n);
        if (u % fill.range == 0) {
            store(dst, i, dtype, int64_t(kSpecialBits[dtype][u / fill.range % 6]));
            return;
        }
    }
    if (fill.kind == kIntegers || fill.kind == kIota || dtype >= kI8) {
        int64_t v = fill.kind == kIntegers ? fill.low + int64_t(__umul64hi(draw(fill.key, n), fill.range))
                    : fill.kind == kIota   ? int64_t(n & fill.mask)
                                           : fill.low;
        if (dtype >= kI8) store(dst, i, dtype, v);
        else if (dtype == kF64) static_cast<double *>(dst)[i] = double(v);
        else store(dst, i, dtype, float(v));
    } else if (dtype == kF64) {
        static_cast<double *>(dst)[i] = generate64(fill, n);
    } else {
        store(dst, i, dtype, generate32(fill, n));
    }
}

__device__ uint64_t globaltimer() {
    uint64_t t;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
    return t;
}

__device__ uint64_t first() { return uint64_t(blockIdx.x) * blockDim.x + threadIdx.x; }

__device__ uint64_t stride() { return uint64_t(gridDim.x) * blockDim.x; }

} // namespace

extern "C" {

// pawl_generate fills count elements.
__global__ void pawl_generate(void *dst, uint64_t count, int dtype, Fill fill) {
    for (uint64_t i = first(); i < count; i += stride()) put(dst, i, dtype, fill, i);
}

// pawl_mutate takes the steps of oracle.Mutate from one to another with its eight
// threads, of which the last has the say where they meet.
__global__ void pawl_mutate(void *dst, uint64_t count, int dtype, Fill fill, uint64_t from, uint64_t to) {
    uint64_t places = mix(fill.key + 1);
    for (uint64_t step = from; step <= to; step++) {
        uint64_t n = 8 * step + threadIdx.x, place = __umul64hi(draw(places, n), count);
        bool last = true;
        for (uint64_t later = n + 1; later < 8 * step + 8; later++) last = last && __umul64hi(draw(places, later), count) != place;
        if (last) put(dst, place, dtype, fill, count + n);
        __syncthreads();
    }
}

// pawl_pattern repeats eight bytes; bytes need not be a multiple of eight.
__global__ void pawl_pattern(uint8_t *dst, uint64_t bytes, uint64_t pattern) {
    uint64_t words = bytes / 8;
    for (uint64_t i = first(); i < words; i += stride()) reinterpret_cast<uint64_t *>(dst)[i] = pattern;
    if (first() < bytes % 8) dst[words * 8 + first()] = uint8_t(pattern >> 8 * first());
}

// pawl_read brings clean lines of another buffer into the L2. The store never
// happens; without it the loads would not either.
__global__ void pawl_read(const uint4 *src, uint64_t count, uint32_t *sink) {
    uint32_t sum = 0;
    for (uint64_t i = first(); i < count; i += stride()) {
        uint4 v = __ldcg(src + i);
        sum |= v.x & v.y & v.z & v.w;
    }
    if (sum == 0x9e3779b9u) *sink = sum;
}

// pawl_block keeps the stream waiting until the host has written at least value,
// or limit nanoseconds have passed: then it says so and lets go.
__global__ void pawl_block(const volatile uint32_t *flag, uint32_t value, uint64_t limit, volatile uint32_t *expired) {
    uint64_t start = globaltimer();
    while (int32_t(*flag - value) < 0) {
        if (globaltimer() - start > limit) {
            *expired = value;
            return;
        }
        __nanosleep(64);
    }
}

// pawl_stamp notes, for every SM it reaches, that SM's clock and the global one.
__global__ void pawl_stamp(ulonglong2 *slots) {
    uint32_t sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    uint64_t now = globaltimer();
    slots[sm] = make_ulonglong2(clock64(), now);
}

// pawl_empty is what a launch costs.
__global__ void pawl_empty() {}

// pawl_hash adds up a hash of every word and its place into *sum, so that the
// order of the threads does not matter. A block adds once: as many additions to one
// place as there are threads would take far longer than the reading.
__global__ void pawl_hash(const uint8_t *src, uint64_t bytes, uint64_t *sum) {
    uint64_t total = 0, words = bytes / 8;
    for (uint64_t i = first(); i < words; i += stride()) total += mix(reinterpret_cast<const uint64_t *>(src)[i] + (i + 1) * kGolden);
    if (first() < bytes % 8) total += mix(src[words * 8 + first()] + (words + first() + 1) * kGolden + 1);
    for (int d = 16; d > 0; d /= 2) total += __shfl_down_sync(0xffffffffu, total, d);
    __shared__ uint64_t warps[32];
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = total;
    __syncthreads();
    if (threadIdx.x > 0) return;
    for (unsigned w = 1; w < blockDim.x / 32; w++) total += warps[w];
    atomicAdd(reinterpret_cast<unsigned long long *>(sum), total);
}

} // extern "C"
