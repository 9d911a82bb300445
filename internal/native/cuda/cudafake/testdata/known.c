// The kernels of internal/native/cuda/testdata, which are there as PTX and cubins.
#include "fake.h"

void *fake_variable(void *module, const char *name);

KERNEL(axpy, 8, 8, 4, 4) {
	for (int i = 0; i < ARG(int, 3); i++) ARG(float *, 0)[i] += ARG(float, 2) * ARG(float *, 1)[i];
	return 0;
}

KERNEL(scalars, 8, 1, 8, 2, 8, 1, 4) {
	double *out = ARG(double *, 0);
	out[0] = ARG(signed char, 1), out[1] = ARG(double, 2), out[2] = ARG(short, 3), out[3] = ARG(long long, 4);
	out[4] = ARG(unsigned char, 5), out[5] = ARG(float, 6);
	return 0;
}

KERNEL(geometry, 8) {
	for (int i = 0; i < 3; i++) ARG(unsigned *, 0)[i] = l->grid[i], ARG(unsigned *, 0)[3 + i] = l->block[i];
	ARG(unsigned *, 0)[6] = l->shared;
	return 0;
}

KERNEL(reverse, 8, 4) {
	int *data = ARG(int *, 0), n = ARG(int, 1);
	if (l->shared < 4u * n) return ILLEGAL_ADDRESS;
	for (int i = 0, j = n - 1; i < j; i++, j--) { int t = data[i]; data[i] = data[j], data[j] = t; }
	return 0;
}

KERNEL(spin, 8, 8, 8) {
	l->held = 1;
	bool released = __atomic_load_n(ARG(unsigned *, 0), __ATOMIC_ACQUIRE);
	if (!released && l->waited < ARG(uint64_t, 2)) return NOT_YET;
	*ARG(unsigned *, 1) = released ? 1 : 2;
	return 0;
}

KERNEL(meet, 8) { *ARG(unsigned *, 0) += l->grid[0]; return 0; }

KERNEL(work, 8, 4) {
	for (unsigned i = 0; i < l->grid[0] * l->block[0]; i++) ARG(float *, 0)[i] = i % l->block[0] + 0.5f;
	l->took = ARG(int, 1);
	return 0;
}

KERNEL(stray, 8) { return is_device_memory(ARG(address, 0), 4) ? (*ARG(int *, 0) = 1, 0) : ILLEGAL_ADDRESS; }
KERNEL(misaligned, 8) { return MISALIGNED; }
KERNEL(doubtful, 4) { return ARG(int, 0) > 0 ? 0 : ASSERT_FAILED; }
KERNEL(trapped, 0) { return LAUNCH_FAILED; }

KERNEL(ranks, 8) {
	for (unsigned i = 0; i < l->grid[0]; i++) ARG(unsigned *, 0)[i] = l->cluster[0] << 16 | i % l->cluster[0];
	return 0;
}
KERNEL(first, 8) { for (unsigned i = 0; i < l->block[0]; i++) ARG(int *, 0)[i] = i; return 0; }
KERNEL(second, 8, 8) { for (unsigned i = 0; i < l->block[0]; i++) ARG(int *, 1)[i] = 2 * ARG(int *, 0)[i]; return 0; }

struct tensor_map { address at; uint64_t dims[5], strides[4]; unsigned box[5]; int rank; };
KERNEL(tile, 128, 8, 4, 4) {
	const struct tensor_map *m = args[0];
	for (unsigned i = 0; i < m->box[0] * m->box[1]; i++) {
		uint64_t x = ARG(int, 2) + i % m->box[0], y = ARG(int, 3) + i / m->box[0];
		ARG(float *, 1)[i] = x < m->dims[0] && y < m->dims[1] ? *(float *)(m->at + y * m->strides[0] + 4 * x) : 0;
	}
	return 0;
}

KERNEL(remember, 8) {
	unsigned *counter = fake_variable(l->module, "counter");
	float *table = fake_variable(l->module, "table");
	char *odd = fake_variable(l->module, "odd");
	float *coefficients = fake_variable(l->module, "coefficients");
	if (!counter || !table || !odd || !coefficients) return ILLEGAL_ADDRESS;
	*ARG(double *, 0) = *counter + table[7] + odd[2] + coefficients[1];
	++*counter, ++table[7], ++odd[2];
	return 0;
}
