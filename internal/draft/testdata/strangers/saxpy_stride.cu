// A loop over the grid, doubles, a stream, and a kernel that is static: no name outside of the file.
// want daxpy: grid 512, block 256, x 1000000, y 1000000, todo 1, oracle {elementwise: "a * x + y"}
#include <cuda_runtime.h>
#include <thrust/device_vector.h>
static __global__ void daxpy(double a, const double *__restrict__ x, double *__restrict__ y, size_t n) {
    const size_t stride = static_cast<size_t>(gridDim.x) * blockDim.x;
    for (size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x; i < n; i += stride) y[i] = a * x[i] + y[i];
}
int main() {
    constexpr size_t n = 1000 * 1000;
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    double *x, *y;
    cudaMallocAsync(&x, n * sizeof(*x), stream);
    cudaMallocAsync(&y, n * sizeof(double), stream);
    const double a = 2.5;
    daxpy<<<dim3(512), dim3(256), 0, stream>>>(a, x, y, n);
    cudaStreamSynchronize(stream);
}
