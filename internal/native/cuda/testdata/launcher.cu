// Host code with kernels of every kind of name.
namespace tiles {
template <int N> __global__ void filled(float *out) { out[threadIdx.x] = N; }
} // namespace tiles

static __global__ void internal(float *out) { out[1] = 3; }
extern "C" __global__ void plain(float *out) { out[0] = 1; }
__global__ void unused(int *out) { *out = 1; }

extern "C" void start(void *stream, float *out) {
    plain<<<1, 1, 0, (cudaStream_t)stream>>>(out);
    tiles::filled<4><<<1, 1, 0, (cudaStream_t)stream>>>(out);
    internal<<<1, 1, 0, (cudaStream_t)stream>>>(out);
}
