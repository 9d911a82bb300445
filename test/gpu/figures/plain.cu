// The same kernels launched and timed as most programs do: a memset flush and an
// event pair around the launch. Under ncu it only launches.
#include "kernels.cu"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

#include <cuda_runtime.h>

#define CHECK(call)                                                                       \
    do {                                                                                  \
        cudaError_t e = call;                                                             \
        if (e != cudaSuccess) {                                                           \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(e));                    \
            exit(1);                                                                      \
        }                                                                                 \
    } while (0)

static void report(const char *name, std::vector<float> ms) {
    std::sort(ms.begin(), ms.end());
    auto at = [&](double p) { return 1e3 * ms[size_t(p * (ms.size() - 1))]; };
    printf("{\"name\": \"%s\", \"p5\": %.4f, \"median\": %.4f, \"p95\": %.4f}\n", name, at(0.05), at(0.5), at(0.95));
}

int main(int argc, char **argv) {
    bool bare = argc > 1 && !strcmp(argv[1], "bare");
    const long most = 67108864;
    float *x, *y;
    char *flush;
    int l2;
    CHECK(cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, 0));
    CHECK(cudaMalloc(&x, most * sizeof(float)));
    CHECK(cudaMalloc(&y, most * sizeof(float)));
    CHECK(cudaMalloc(&flush, 2l * l2));
    CHECK(cudaMemset(x, 0x3c, most * sizeof(float)));
    cudaEvent_t before, after;
    CHECK(cudaEventCreate(&before));
    CHECK(cudaEventCreate(&after));
    struct Case {
        const char *name;
        std::function<void()> launch;
    };
    auto scaled = [&](long n) { return [=] { scale<<<(n + 255) / 256, 256>>>(x, y, 2.0f, n); }; };
    auto chained = [&](int rounds) { return [=] { fma_chain<<<1056, 256>>>(x, y, rounds); }; };
    for (auto &c : {Case{"scale/short", scaled(6291456)}, Case{"scale/medium", scaled(16777216)}, Case{"scale/long", scaled(67108864)}, Case{"fma/medium", chained(20000)},
                    Case{"fma/long", chained(450000)}}) {
        if (bare) {
            for (int i = 0; i < 12; i++) c.launch();
            CHECK(cudaDeviceSynchronize());
            continue;
        }
        std::vector<float> ms;
        for (int i = 0; i < 220; i++) {
            float took;
            CHECK(cudaMemsetAsync(flush, i, 2l * l2));
            CHECK(cudaDeviceSynchronize());
            CHECK(cudaEventRecord(before));
            c.launch();
            CHECK(cudaEventRecord(after));
            CHECK(cudaEventSynchronize(after));
            CHECK(cudaEventElapsedTime(&took, before, after));
            if (i >= 20) ms.push_back(took);
        }
        report(c.name, ms);
    }
    if (!bare) { // what a clean flush takes: written once, read once
        std::vector<float> ms;
        for (int i = 0; i < 50; i++) {
            float took;
            CHECK(cudaEventRecord(before));
            CHECK(cudaMemsetAsync(flush, i, 2l * l2));
            CHECK(cudaMemcpyAsync(flush, flush + l2, l2, cudaMemcpyDeviceToDevice));
            CHECK(cudaEventRecord(after));
            CHECK(cudaEventSynchronize(after));
            CHECK(cudaEventElapsedTime(&took, before, after));
            ms.push_back(took);
        }
        report("flush", ms);
    }
}
