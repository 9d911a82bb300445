// Launchers of the tests on the fake driver; -DKIND chooses one.
#include "launcher.h"

KERNEL(scale, 8, 8, 4) {
	for (int i = 0; i < ARG(int, 2); i++) ARG(float *, 0)[i] = 2 * ARG(float *, 1)[i];
	l->took = 5000;
	return 0;
}
KERNEL(fault, 8) { return 700; }

static void go(void **slots, void *stream) { fake_launch(&scale_kernel, stream, (void *[]){&slots[0], &slots[1], slots[2]}); }
