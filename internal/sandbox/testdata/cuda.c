// cuda runs one small kernel through the driver and prints "ok".
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>

static const char ptx[] =
	".version 6.0\n.target sm_50\n.address_size 64\n"
	".visible .entry put(.param .u64 p)\n{\n.reg .b64 %rd<3>;\n.reg .b32 %r<2>;\n"
	"ld.param.u64 %rd1, [p];\ncvta.to.global.u64 %rd2, %rd1;\nmov.u32 %r1, 42;\nst.global.u32 [%rd2], %r1;\nret;\n}\n";

#define CALL(name, ...)                                                   \
	do {                                                                  \
		int (*f)() = (int (*)())dlsym(lib, name);                         \
		int e = f ? f(__VA_ARGS__) : -1;                                  \
		if (e) {                                                          \
			printf("%s: %d\n", name, e);                                  \
			return 0;                                                     \
		}                                                                 \
	} while (0)

int main(void) {
	void *lib = dlopen("libcuda.so.1", RTLD_NOW);
	if (!lib) {
		printf("%s\n", dlerror());
		return 0;
	}
	int device, answer = 0;
	void *context, *module, *kernel;
	unsigned long long memory;
	CALL("cuInit", 0);
	CALL("cuDeviceGet", &device, 0);
	CALL("cuDevicePrimaryCtxRetain", &context, device);
	CALL("cuCtxSetCurrent", context);
	CALL("cuMemAlloc_v2", &memory, (size_t)4096);
	CALL("cuModuleLoadData", &module, ptx);
	CALL("cuModuleGetFunction", &kernel, module, "put");
	void *args[] = {&memory};
	CALL("cuLaunchKernel", kernel, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL);
	CALL("cuMemcpyDtoH_v2", &answer, memory, (size_t)4);
	printf(answer == 42 ? "ok\n" : "wrong\n");
	return 0;
}
