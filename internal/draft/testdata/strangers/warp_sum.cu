// A class of helpers, lambdas, and a launch inside of a timing loop with events.
// want row_sums: grid 4096, block 128, sums 4096, values 4194304
#include <cuda_runtime.h>
#include <iostream>
namespace {
constexpr unsigned kAll = 0xffffffffu;
class Timer {
public:
    Timer() { cudaEventCreate(&start_); cudaEventCreate(&stop_); }
    void begin() { cudaEventRecord(start_); }
    float end() { float ms = 0; cudaEventRecord(stop_); cudaEventSynchronize(stop_); cudaEventElapsedTime(&ms, start_, stop_); return ms; }
private:
    cudaEvent_t start_, stop_;
};
}
template <typename T, int kThreads>
__global__ void row_sums(T *__restrict__ sums, const T *__restrict__ values, int columns) {
    __shared__ T part[kThreads / 32];
    const T *row = values + static_cast<size_t>(blockIdx.x) * columns;
    T sum = 0;
    for (int c = threadIdx.x; c < columns; c += kThreads) sum += row[c];
    for (int o = 16; o; o >>= 1) sum += __shfl_down_sync(kAll, sum, o);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < kThreads / 32; w++) sum += part[w];
        sums[blockIdx.x] = sum;
    }
}
int main(int argc, char **argv) {
    const int rows = 4096, columns = 1024;
    float *values = nullptr, *sums = nullptr;
    cudaMalloc(&values, sizeof(float) * rows * columns);
    cudaMalloc(&sums, sizeof(float) * rows);
    Timer timer;
    timer.begin();
    for (int i = 0; i < 10; ++i) row_sums<float, 128><<<rows, 128>>>(sums, values, columns);
    std::cout << timer.end() << " ms\n";
    cudaFree(values);
    cudaFree(sums);
}
