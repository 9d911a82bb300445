// As much work as it is told to do, part memory and part arithmetic: what it takes
// longer for more elements is known.
extern "C" __global__ void mixed(const float4 *x, float4 *y, long count) {
    for (long i = blockIdx.x * (long)blockDim.x + threadIdx.x; i < count; i += (long)gridDim.x * blockDim.x) {
        float4 v = x[i];
#pragma unroll
        for (int r = 0; r < 24; r++) {
            v.x = v.x * 0.999f + v.y;
            v.y = v.y * 0.999f + v.z;
            v.z = v.z * 0.999f + v.w;
            v.w = v.w * 0.999f + v.x;
        }
        y[i] = v;
    }
}
