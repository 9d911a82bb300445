// How fast the device's memory and its L2 deliver: 16 bytes a thread, coalesced,
// UNROLL accesses in flight before the first is used.

__device__ float sum(float4 v) { return (v.x + v.y) + (v.z + v.w); }

// A block writes one number. That all of its threads might keeps the compiler from
// dropping the loads of the others: no sum of the inputs is NEVER.
constexpr float NEVER = -1e30f;

__device__ void keep(float *out, float total) {
    if (threadIdx.x == 0 || total == NEVER) out[blockIdx.x] = total;
}

template <int UNROLL>
__global__ void copy(const float4 *from, float4 *to, long n) {
    const long step = (long)gridDim.x * blockDim.x;
    long i = (long)blockIdx.x * blockDim.x + threadIdx.x;
    for (; i + (UNROLL - 1) * step < n; i += UNROLL * step) {
        float4 v[UNROLL];
#pragma unroll
        for (int k = 0; k < UNROLL; k++) v[k] = __ldcs(from + i + k * step);
#pragma unroll
        for (int k = 0; k < UNROLL; k++) __stcs(to + i + k * step, v[k]);
    }
    for (; i < n; i += step) to[i] = from[i];
}

template <int UNROLL>
__global__ void read(const float4 *from, float *out, long n) {
    const long step = (long)gridDim.x * blockDim.x;
    long i = (long)blockIdx.x * blockDim.x + threadIdx.x;
    float total = 0;
    for (; i + (UNROLL - 1) * step < n; i += UNROLL * step) {
        float4 v[UNROLL];
#pragma unroll
        for (int k = 0; k < UNROLL; k++) v[k] = __ldcs(from + i + k * step);
#pragma unroll
        for (int k = 0; k < UNROLL; k++) total += sum(v[k]);
    }
    for (; i < n; i += step) total += sum(from[i]);
    keep(out, total);
}

template <int UNROLL>
__global__ void write(float4 *to, long n) {
    const long step = (long)gridDim.x * blockDim.x;
    const float4 v = make_float4(1, 2, 3, 4);
    long i = (long)blockIdx.x * blockDim.x + threadIdx.x;
    for (; i + (UNROLL - 1) * step < n; i += UNROLL * step) {
#pragma unroll
        for (int k = 0; k < UNROLL; k++) __stcs(to + i + k * step, v);
    }
    for (; i < n; i += step) to[i] = v;
}

// A load that passes the L1 by and that no compiler may hoist out of a loop.
__device__ float4 from_l2(const float4 *at) {
    float4 v;
    asm volatile("ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(at));
    return v;
}

// The grid covers UNROLL * rounds * its threads elements, again and again.
template <int UNROLL>
__global__ void read_again(const float4 *from, float *out, int rounds, int passes) {
    const int step = gridDim.x * blockDim.x;
    const float4 *mine = from + blockIdx.x * blockDim.x + threadIdx.x;
    float total = 0;
    for (int pass = 0; pass < passes; pass++) {
        for (int r = 0; r < rounds; r++) {
            float4 v[UNROLL];
#pragma unroll
            for (int k = 0; k < UNROLL; k++) v[k] = from_l2(mine + (r * UNROLL + k) * step);
#pragma unroll
            for (int k = 0; k < UNROLL; k++) total += sum(v[k]);
        }
    }
    keep(out, total);
}

template <int UNROLL>
__global__ void copy_again(const float4 *from, float4 *to, int rounds, int passes) {
    const int step = gridDim.x * blockDim.x;
    const int first = blockIdx.x * blockDim.x + threadIdx.x;
    for (int pass = 0; pass < passes; pass++) {
        for (int r = 0; r < rounds; r++) {
            float4 v[UNROLL];
#pragma unroll
            for (int k = 0; k < UNROLL; k++) v[k] = from_l2(from + first + (r * UNROLL + k) * step);
#pragma unroll
            for (int k = 0; k < UNROLL; k++) __stcg(to + first + (r * UNROLL + k) * step, v[k]);
        }
    }
}
