// A libcuda without a device, for what can be tested without one: how the driver
// is opened, and what reaches it. Structures are declared as in cuda.h.
//
// Built with -DVERSION, -DINIT (what cuInit returns), -DOLD (leaves out what came
// after CUDA 12.0) and -DINCOMPLETE (leaves out something older).
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifndef VERSION
#define VERSION 13000
#endif
#ifndef INIT
#define INIT 0
#endif

// What arrived, read by the tests word by word.
static int recorded[64];
static int count;
int recorded_count(void) { return count; }
int recorded_at(int i) { return recorded[i]; }
void recorded_reset(void) { count = 0; }
static void record(int v) { if (count < 64) recorded[count++] = v; }

int cuInit(unsigned flags) { return INIT; }
int cuDriverGetVersion(int *version) { *version = VERSION; return 0; }

int cuGetErrorName(int code, const char **text) {
	*text = code == 218 ? "CUDA_ERROR_INVALID_PTX" : code == 1 ? "CUDA_ERROR_INVALID_VALUE" : NULL;
	return *text ? 0 : 1;
}
int cuGetErrorString(int code, const char **text) {
	*text = code == 218 ? "a PTX JIT compilation failed" : NULL;
	return *text ? 0 : 1;
}

int cuDeviceGetCount(int *n) { *n = 2; return 0; }
int cuDeviceGet(int *handle, int i) { *handle = i; return i < 2 ? 0 : 101; }
int cuDeviceGetName(char *name, int size, int device) {
	strncpy(name, device ? "NVIDIA H200 MIG 1g.18gb" : "NVIDIA H200", size);
	return 0;
}
int cuDeviceGetUuid_v2(unsigned char *uuid, int device) {
	for (int i = 0; i < 16; i++) uuid[i] = 17 * i;
	return 0;
}
int cuDeviceGetAttribute(int *value, int attribute, int device) { *value = 1000 * device + attribute; return 0; }
int cuDeviceTotalMem_v2(size_t *bytes, int device) { *bytes = (size_t)141 << 30; return 0; }

int cuModuleLoadDataEx(void **module, const char *image, unsigned n, const unsigned *options, void **values) {
	*module = (void *)0x10;
	for (unsigned i = 0; i < n; i++) {
		record(options[i]);
		if (options[i] == 5) strncpy(values[i], strstr(image, "bad") ? "line 1; fatal: bad\n" : "", 16384);
		if (options[i] == 3) strcpy(values[i], "info");
		if (options[i] == 4 || options[i] == 6) record((int)(uintptr_t)values[i]);
	}
	return strstr(image, "bad") ? 218 : 0;
}
int cuModuleGetFunction(void **function, void *module, const char *name) {
	*function = (void *)0x20;
	return strcmp(name, "kernel") ? 500 : 0;
}

struct attribute { unsigned id; char pad[4]; union { char bytes[64]; int number; struct { unsigned x, y, z; } cluster; } value; };
struct config { unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared; void *stream; struct attribute *attributes; unsigned n; };

int cuLaunchKernelEx(const struct config *c, void *function, void **params, void **extra) {
	record(c->grid_x), record(c->grid_y), record(c->grid_z);
	record(c->block_x), record(c->block_y), record(c->block_z);
	record(c->shared), record((int)(uintptr_t)c->stream), record((int)(uintptr_t)function), record(extra != NULL);
	record(c->n);
	for (unsigned i = 0; i < c->n; i++) {
		const struct attribute *a = &c->attributes[i];
		record(a->id), record(a->value.number);
		if (a->id == 4) record(a->value.cluster.y), record(a->value.cluster.z);
	}
	// Those of kernel(void *, int, double).
	record(*(uint64_t *)params[0] >> 32), record(*(int *)params[1]), record(*(double *)params[2] * 1000);
	return 0;
}

int cuTensorMapEncodeTiled(void *map, int type, unsigned rank, void *address, const uint64_t *dims, const uint64_t *strides,
	const unsigned *box, const unsigned *steps, int interleave, int swizzle, int promotion, int fill) {
	record((uintptr_t)map % 128 == 0), record(type), record(rank), record((uintptr_t)address >> 32);
	for (unsigned i = 0; i < rank; i++) record(dims[i]), record(box[i]), record(steps[i]);
	for (unsigned i = 0; i + 1 < rank; i++) record(strides[i]);
	record(interleave), record(swizzle), record(promotion), record(fill);
	memset(map, 0x5a, 128);
	return 0;
}

int cuStreamQuery(void *stream) { return 600; }

/* A window over 4096 bytes, until another one is set. */
static struct { void *base; size_t bytes; float ratio; int hit, miss; char rest[36]; } window = {(void *)64, 4096, 1, 2, 1};
int cuStreamGetAttribute(void *stream, int which, void *value) { return which != 1 ? 1 : (memcpy(value, &window, 64), 0); }
int cuStreamSetAttribute(void *stream, int which, const void *value) { return which != 1 ? 1 : (memcpy(&window, value, 64), 0); }

int cuEventElapsedTime(float *ms, void *start, void *end) { *ms = 0.125f; return 0; }

#ifndef OLD
int cuFuncGetParamInfo(void *function, size_t i, size_t *offset, size_t *size) {
	static const size_t sizes[] = {8, 4, 8};
	if (i >= 3) return 1;
	*offset = 8 * i, *size = sizes[i];
	return 0;
}
int cuFuncGetName(const char **name, void *function) { *name = "kernel"; return 0; }
int cuModuleGetFunctionCount(unsigned *n, void *module) { *n = 1; return 0; }
int cuModuleEnumerateFunctions(void **functions, unsigned n, void *module) { functions[0] = (void *)0x20; return 0; }
#endif

// The rest is there, and not called.
#define ABSENT(name) int name(void) { return 801; }
ABSENT(cuDeviceGetPCIBusId)
ABSENT(cuDevicePrimaryCtxRetain) ABSENT(cuDevicePrimaryCtxRelease_v2) ABSENT(cuCtxSetCurrent) ABSENT(cuCtxSynchronize)
ABSENT(cuCtxSetLimit) ABSENT(cuCtxGetLimit) ABSENT(cuCtxResetPersistingL2Cache) ABSENT(cuModuleUnload)
ABSENT(cuModuleGetGlobal_v2) ABSENT(cuFuncGetAttribute) ABSENT(cuFuncSetAttribute)
ABSENT(cuOccupancyMaxActiveBlocksPerMultiprocessor) ABSENT(cuOccupancyMaxActiveClusters)
ABSENT(cuMemAlloc_v2) ABSENT(cuMemFree_v2) ABSENT(cuMemGetInfo_v2) ABSENT(cuMemsetD8Async) ABSENT(cuMemsetD32Async)
ABSENT(cuMemcpyHtoDAsync_v2) ABSENT(cuMemcpyDtoHAsync_v2) ABSENT(cuMemcpyDtoDAsync_v2)
ABSENT(cuMemHostAlloc) ABSENT(cuMemHostGetDevicePointer_v2) ABSENT(cuMemFreeHost)
ABSENT(cuStreamCreate) ABSENT(cuStreamDestroy_v2) ABSENT(cuStreamSynchronize) ABSENT(cuStreamWaitEvent)
ABSENT(cuStreamBeginCapture_v2) ABSENT(cuStreamEndCapture) ABSENT(cuProfilerStart) ABSENT(cuProfilerStop)
ABSENT(cuEventCreate) ABSENT(cuEventDestroy_v2) ABSENT(cuEventRecord) ABSENT(cuEventSynchronize) ABSENT(cuEventQuery)
ABSENT(cuGraphInstantiateWithFlags) ABSENT(cuGraphLaunch) ABSENT(cuGraphUpload) ABSENT(cuGraphDestroy)
#ifndef INCOMPLETE
ABSENT(cuGraphExecDestroy)
#endif
