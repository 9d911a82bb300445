// CUDA kernels of the tests without a GPU: C, for the fake driver of package
// cudafake. What a launch takes is 300 µs where nothing else is said.
#include <unistd.h>

#include "kernel.h"

static int twice(void **args, struct launch *l) {
	for (int i = 0; i < ARG(int, 2); i++) ARG(float *, 1)[i] = 2 * ARG(float *, 0)[i];
	l->took = 300000;
	return 0;
}

KERNEL(scale, 8, 8, 4) { return twice(args, l); }
KERNEL(short_scale, 8, 8, 4) { twice(args, l); l->took = 4000; return 0; }
KERNEL(other_scale, 8, 8, 4) { twice(args, l); l->took += 100; return 0; }
KERNEL(staged_scale, 8, 8, 8, 4) { void *own[] = {args[0], args[2], args[3]}; return twice(own, l); }
KERNEL(slow_scale, 8, 8, 4) { twice(args, l); l->took = 330000; return 0; }
KERNEL(wrong_scale, 8, 8, 4) { twice(args, l); ARG(float *, 1)[7] += 1; return 0; }
KERNEL(illegal_address, 8, 8, 4) { return ILLEGAL_ADDRESS; }
KERNEL(asserts, 8, 8, 4) { return ASSERT_FAILED; }
KERNEL(traps, 8, 8, 4) { return LAUNCH_FAILED; }
KERNEL(past_the_end, 8, 8, 4) { ARG(float *, 1)[ARG(int, 2)] = 1; return twice(args, l); }
KERNEL(changes_input, 8, 8, 4) { ARG(float *, 0)[3] = 1; return twice(args, l); }
KERNEL(nothing, 8, 8, 4) { return 0; }
KERNEL(endless, 8, 8, 4) { for (;;) pause(); }
KERNEL_WITH(heavy_scale, 64, 255, 8, 8, 4) { return twice(args, l); }

DEVICE_CONSTANT float filter[4096];
static int filtered_with(void **args, struct launch *l) {
	for (int i = 0; i < ARG(int, 2); i++) ARG(float *, 1)[i] = 2 * ARG(float *, 0)[i] + filter[i];
	l->took = 300000;
	return 0;
}
KERNEL(filtered, 8, 8, 4) { return filtered_with(args, l); }
KERNEL(other_filtered, 8, 8, 4) { filtered_with(args, l); l->took += 100; return 0; }
KERNEL(wrong_filtered, 8, 8, 4) { filtered_with(args, l); ARG(float *, 1)[9] -= filter[9]; return 0; }
