// What a kernel of the fake driver is written with. A kernel is one C function
// for its whole grid; it gets its parameters as the driver does, by address.
//
//	KERNEL(scale, 8, 8, 4) {
//		float *y = ARG(float *, 0), *x = ARG(float *, 1);
//		for (int i = 0; i < ARG(int, 2); i++) y[i] = 2 * x[i];
//		l->took = 5000;
//		return 0;
//	}
//
// The numbers are the parameters' sizes. It returns 0, the CUresult that ends its
// context, or NOT_YET when it waits for the host. A __device__ variable is
// declared with DEVICE (zero at first) or DEVICE_INIT, a __constant__ one with DEVICE_CONSTANT.
#pragma once
#include <stddef.h>
#include <stdint.h>

enum { NOT_YET = 600, ILLEGAL_ADDRESS = 700, ASSERT_FAILED = 710, MISALIGNED = 716, LAUNCH_FAILED = 719 };

struct launch {
	unsigned grid[3], block[3], cluster[3], shared;
	uint64_t now;    // nanoseconds on the device when it started
	uint64_t waited; // nanoseconds since it first said NOT_YET
	uint64_t took;   // set by the kernel: what it takes, in nanoseconds
	int held;        // set by the kernel: it ended when the host let it
	double ghz;
	void *module;
};

struct kernel {
	const char *name;
	int (*run)(void **args, struct launch *l);
	unsigned short sizes[12];
	unsigned max_threads, registers; // 0: as many as a block may have, and 32
};

// A compiler's symbol for the kernel, as build looks for it in a cubin.
#ifdef FAKE_DRIVER
#define SYMBOL(name)
#else
#define SYMBOL(name) void name(void) {}
#endif

#define KERNEL(name, ...) KERNEL_WITH(name, 0, 0, __VA_ARGS__)
#define KERNEL_WITH(name, most, registers, ...) \
	static int name##_run(void **args, struct launch *l); \
	SYMBOL(name) \
	static const struct kernel name##_kernel __attribute__((used, aligned(8), section("fake_kernels"))) = { \
		#name, name##_run, {__VA_ARGS__}, most, registers}; \
	static int name##_run(void **args, struct launch *l)
#define ARG(type, i) (*(type *)args[i])

#define DEVICE __attribute__((section(".nv.global")))
#define DEVICE_INIT __attribute__((section(".nv.global.init")))
#define DEVICE_CONSTANT __attribute__((section(".nv.constant3")))

extern const struct kernel __start_fake_kernels[] __attribute__((weak, visibility("hidden")));
extern const struct kernel __stop_fake_kernels[] __attribute__((weak, visibility("hidden")));

// What the driver asks a module for.
__attribute__((used)) static const struct kernel *kernels_here(int i) {
	return __start_fake_kernels + i < __stop_fake_kernels ? &__start_fake_kernels[i] : NULL;
}
#ifndef FAKE_DRIVER
const struct kernel *fake_kernel_list(int i) { return kernels_here(i); }
#endif
