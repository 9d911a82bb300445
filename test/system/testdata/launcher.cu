// Launchers of the tests without a GPU, whose entries take the stream at other places than the first.
#include "launcher.h"

typedef void *cudaStream_t;

KERNEL(scale, 8, 8, 4) {
	for (int i = 0; i < ARG(int, 2); i++) ARG(float *, 1)[i] = 2 * ARG(float *, 0)[i];
	l->took = 300000;
	return 0;
}

static void twice(const float *x, float *y, int n, cudaStream_t stream) { fake_launch(&scale_kernel, stream, (void *[]){&x, &y, &n}); }

void stream_last(const float *x, float *y, int n, cudaStream_t stream) { twice(x, y, n, stream); }
void stream_second(const float *x, cudaStream_t stream, float *y, int n) { twice(x, y, n, stream); }

// The description cannot be held against a signature that a macro hides.
#define PARAMETERS const float *x, float *y, int n, cudaStream_t stream
void hidden(PARAMETERS) { twice(x, y, *(int *)y + n, stream); }
