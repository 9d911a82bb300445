// What a launcher of the tests is written with: host code that is given its
// arguments and a stream, as build's shim exports it.
//
//	LAUNCHER { launch(&scale_kernel, stream, (void *[]){slots[0], slots[1], slots[2]}); }
//
// A slot is a buffer's address, or the address of a scalar.
#pragma once
#include "kernel.h"

int fake_launch(const struct kernel *k, void *stream, void **params);

int cuCtxSynchronize(void);
int cuCtxSetLimit(unsigned limit, size_t value);
int cuMemAlloc_v2(unsigned long long *at, size_t bytes);
int cuStreamCreate(void **stream, unsigned flags);
int cuStreamSetAttribute(void *stream, int which, const void *value);
int cuStreamSynchronize(void *stream);

#define LAUNCHER \
	int pawl_launcher_abi = 1; \
	void pawl_launch(void **slots, void *stream)
