import cupy

by_hand = cupy.RawKernel(r"""
extern "C" __global__ void scale(const float *x, float *y, float a, long long n) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + 1;
}
""", "scale")

by_formula = cupy.ElementwiseKernel("float32 x, float32 a", "float32 y", "y = a * x + 1", "scale_elementwise")


def launch(x, y, a):
    by_hand(((x.size + 255) // 256,), (256,), (x, y, cupy.float32(a), cupy.int64(x.size)))


def apply(x, y, a):
    by_formula(x, cupy.float32(a), y)


def raw(x, y, a, change):
    launch(x, y, a)


def elementwise(x, y, a, change):
    apply(x, y, a)
