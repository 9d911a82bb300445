// Host code that is given a stream.
#include <cuda_runtime.h>
#include <sys/prctl.h>
#include <unistd.h>

__global__ void scale(const float *x, float *y, long n) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2 * x[i];
}

__global__ void busy(float *y, long rounds) {
    float v = y[0];
    for (long i = 0; i < rounds; i++) v = v * 0.5f + 1;
    y[1] = v;
}

extern "C" void launch(cudaStream_t stream, const float *x, float *y, long n) { scale<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n); }

extern "C" void launch_nothing(cudaStream_t stream, const float *x, float *y, long n) {}

extern "C" void launch_elsewhere(cudaStream_t stream, const float *x, float *y, long n) {
    static cudaStream_t other;
    if (!other) cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
    scale<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
    busy<<<1, 1, 0, other>>>(y, 200000);
}

// All of its work goes past the stream it is given.
extern "C" void launch_all_elsewhere(cudaStream_t stream, const float *x, float *y, long n) {
    static cudaStream_t other;
    if (!other) cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
    scale<<<(n + 255) / 256, 256, 0, other>>>(x, y, n);
    busy<<<1, 1, 0, other>>>(y, 200000);
}

// Another stream, but ordered after its own, and joined: nothing is wrong with it.
extern "C" void launch_joined(cudaStream_t stream, const float *x, float *y, long n) {
    static cudaStream_t other;
    static cudaEvent_t forked, joined;
    if (!other) {
        cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
        cudaEventCreateWithFlags(&forked, cudaEventDisableTiming);
        cudaEventCreateWithFlags(&joined, cudaEventDisableTiming);
    }
    cudaEventRecord(forked, stream);
    cudaStreamWaitEvent(other, forked, 0);
    scale<<<(n + 255) / 256, 256, 0, other>>>(x, y, n);
    busy<<<1, 1, 0, other>>>(y, 200000);
    cudaEventRecord(joined, other);
    cudaStreamWaitEvent(stream, joined, 0);
}

// Takes its time, and shows it by the name of its thread. All calls but the first are
// made while the stream is held.
extern "C" void launch_late(cudaStream_t stream, const float *x, float *y, long n) {
    static int calls;
    if (calls++ > 0) {
        prctl(PR_SET_NAME, "held");
        usleep(700000);
        prctl(PR_SET_NAME, "free");
    }
    scale<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
}

// Takes 64 MiB of its own.
extern "C" void launch_workspace(cudaStream_t stream, const float *x, float *y, long n) {
    static float *workspace;
    if (!workspace) cudaMalloc(&workspace, 64 << 20);
    scale<<<(n + 255) / 256, 256, 0, stream>>>(x, workspace, n);
    scale<<<(n + 255) / 256, 256, 0, stream>>>(workspace, y, n);
}
