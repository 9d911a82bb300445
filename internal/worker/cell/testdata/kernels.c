// Kernels of the tests on the fake driver (package cudafake), of which each is
// loaded as a cubin. What a launch takes is 5 µs where nothing else is said.
#include "kernel.h"

// What they all do, so that pawl sees that something was written.
static int twice(float *y, const float *x, int n, struct launch *l) {
	for (int i = 0; i < n; i++) y[i] = 2 * x[i];
	l->took = 5000;
	return 0;
}

KERNEL(scale, 8, 8, 4) { return twice(ARG(float *, 0), ARG(float *, 1), ARG(int, 2), l); }
KERNEL(slow_scale, 8, 8, 4) { twice(ARG(float *, 0), ARG(float *, 1), ARG(int, 2), l); l->took = 10000; return 0; }
KERNEL_WITH(heavy_scale, 64, 255, 8, 8, 4) { return twice(ARG(float *, 0), ARG(float *, 1), ARG(int, 2), l); }

// In place: what it finds counts.
KERNEL(increase, 8, 4) {
	for (int i = 0; i < ARG(int, 1); i++) ARG(float *, 0)[i] += 1;
	l->took = 5000;
	return 0;
}

// Writes only what is poison, and so the truth only where pawl has poisoned it.
KERNEL(fill_in, 8, 8, 4) {
	for (int i = 0; i < ARG(int, 2); i++) if (ARG(float *, 0)[i] != ARG(float *, 0)[i]) ARG(float *, 0)[i] = 2 * ARG(float *, 1)[i];
	return 0;
}

KERNEL(past_the_end, 8, 8, 4) { ARG(float *, 0)[ARG(int, 2) + 2] = 1; return twice(ARG(float *, 0), ARG(float *, 1), ARG(int, 2), l); }
KERNEL(before_the_start, 8, 8, 4) { ARG(float *, 0)[-3] = 1; return twice(ARG(float *, 0), ARG(float *, 1), ARG(int, 2), l); }
KERNEL(changes_input, 8, 8, 4) { twice(ARG(float *, 0), ARG(float *, 1), ARG(int, 2), l); ARG(float *, 1)[1] = 77; return 0; }
KERNEL(nothing, 8, 8, 4) { return 0; }

// Ends with the code that its scalar says.
KERNEL(faulty, 8, 8, 4) {
	twice(ARG(float *, 0), ARG(float *, 1), 1, l);
	return ARG(int, 2);
}

// Counts its launches in variables of both kinds, and in one that nobody can look up.
DEVICE int counted;
DEVICE_INIT float table[64] = {1, 2, 3};
DEVICE static int hidden;
KERNEL(remember, 8) { *ARG(float *, 0) = counted++ + table[1]++ + hidden++; return 0; }

// Symbols as arguments: a filter in constant memory, others that kernels can write.
DEVICE_CONSTANT float filter[1000];
DEVICE int factor;
DEVICE float weights[1000];
DEVICE float result[1000];
DEVICE int seen;
KERNEL(filtered, 8, 8, 4) {
	for (int i = 0; i < ARG(int, 2); i++) ARG(float *, 0)[i] = factor * ARG(float *, 1)[i] + filter[i] + weights[i];
	l->took = 5000;
	return 0;
}
KERNEL(changes_weights, 8, 8, 4) { filtered_run(args, l); weights[7] += 1; return 0; }
KERNEL(remembers_beside, 8, 8, 4) { filtered_run(args, l); seen++; return 0; }
KERNEL(into_symbol, 8, 4) {
	for (int i = 0; i < ARG(int, 1); i++) result[i] = 2 * ARG(float *, 0)[i];
	l->took = 5000;
	return 0;
}
KERNEL(in_symbol, 4) {
	for (int i = 0; i < ARG(int, 0); i++) weights[i] += 1;
	l->took = 5000;
	return 0;
}

// A tile of 4 by 4 floats through its tensor map.
struct tensor_map { uint64_t at, dims[5], strides[4]; unsigned box[5]; int rank; };
KERNEL(tile, 128, 8) {
	const struct tensor_map *m = args[0];
	for (unsigned i = 0; i < 16; i++) ARG(float *, 1)[i] = *(float *)(m->at + i / 4 * m->strides[0] + i % 4 * 4);
	return 0;
}
