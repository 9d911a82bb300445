// Devices, contexts and limits; what the tests tell the fake, and what it tells them.
#include "fake.h"

#include <stdarg.h>
#include <time.h>
#include <unistd.h>

struct device devices[DEVICES];
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool initialised;
static __thread int here = -1; // the device whose context is current on this thread

uint64_t host_now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

// ---- what tests set and read

static struct { const char *name; int value, usual; } settings[] = {
	{"version", 13000, 13000}, // of the driver
	{"init", 0, 0},            // what cuInit returns
	{"devices", DEVICES, DEVICES},
	{"capability", 90, 90},
	{"megabytes", 1024, 1024}, // of memory on each device
	{"init_ms", 0, 0},         // how long cuInit takes
	{"context_ms", 0, 0},      // how long a context takes
};
enum { SETTINGS = sizeof settings / sizeof *settings };

int setting(const char *name) {
	for (int i = 0; i < SETTINGS; i++) if (!strcmp(settings[i].name, name)) return settings[i].value;
	abort();
}
int fake_set(const char *name, int value) {
	for (int i = 0; i < SETTINGS; i++) if (!strcmp(settings[i].name, name)) { settings[i].value = value; return 0; }
	return 1;
}

static char (*lines)[96];
static int line_count;
enum { LINES = 1 << 16, CALLS = 1 << 16 };
void note(const char *format, ...) {
	if (!lines) lines = malloc(sizeof *lines * LINES);
	if (line_count >= LINES) return;
	va_list args;
	va_start(args, format);
	vsnprintf(lines[line_count++], sizeof *lines, format, args);
	va_end(args);
}
int fake_line_count(void) { return line_count; }
const char *fake_line(int i) { return lines[i]; }
void fake_forget_lines(void) { line_count = 0; }

static const char *calls[CALLS];
static int call_count;
int fake_call_count(void) { return call_count; }
const char *fake_call(int i) { return calls[i]; }
void fake_forget_calls(void) { call_count = 0; }

static struct { char function[64]; int countdown, code; } failure;

// The nth call of a function, or of any, fails from now on.
void fake_fail(const char *function, int nth, int code) {
	snprintf(failure.function, sizeof failure.function, "%s", function);
	failure.countdown = nth, failure.code = code;
}

static bool sticky(int code) {
	switch (code) {
	case 214: case 220: case 226: case 700: case 702: case 709: case 710: case 714: case 715: case 716: case 717: case 718: case 719:
	case 721: case 810: case 911: case 999:
		return true;
	}
	return false;
}

int enter(const char *function, bool needs_context) {
	pthread_mutex_lock(&lock);
	if (call_count < CALLS) calls[call_count++] = function;
	int code = 0;
	if (failure.countdown > 0 && (!strcmp(failure.function, "*") || !strcmp(failure.function, function)) && --failure.countdown == 0) {
		code = failure.code;
		if (here >= 0 && sticky(code)) devices[here].lost = code;
	}
	if (!code && needs_context) {
		if (!initialised) code = NOT_INITIALIZED;
		else if (here < 0 || devices[here].retained == 0) code = INVALID_CONTEXT;
		else code = devices[here].lost;
	}
	if (code) pthread_mutex_unlock(&lock);
	return code;
}

struct device *current(void) { return &devices[here]; }
int current_index(void) { return here; }

static void end_context(int i) {
	drop_streams(&devices[i]);
	free_all(i);
	memset(&devices[i], 0, sizeof devices[i]);
}

// Everything is as in a new process, but for libraries that candidates have left.
void fake_reset(void) {
	for (int i = 0; i < DEVICES; i++) end_context(i);
	for (int i = 0; i < SETTINGS; i++) settings[i].value = settings[i].usual;
	line_count = call_count = failure.countdown = 0;
	initialised = false;
}

// ---- the driver

int cuInit(unsigned flags) {
	ENTER(false);
	usleep(1000 * setting("init_ms"));
	initialised = setting("init") == 0;
	return setting("init");
}
int cuDriverGetVersion(int *version) { ENTER(false); *version = setting("version"); return 0; }

static const struct { int code; const char *name, *text; } words[] = {
	{1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"}, {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
	{100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"}, {101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
	{200, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"}, {201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
	{218, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"}, {400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
	{500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"}, {600, "CUDA_ERROR_NOT_READY", "device not ready"},
	{700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
	{701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"},
	{710, "CUDA_ERROR_ASSERT", "device-side assert triggered"}, {719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
	{720, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", "too many blocks in cooperative launch"},
};
enum { WORDS = sizeof words / sizeof *words };
int cuGetErrorName(int code, const char **text) {
	for (int i = 0; i < WORDS; i++) if (words[i].code == code) return *text = words[i].name, 0;
	return *text = NULL, INVALID_VALUE;
}
int cuGetErrorString(int code, const char **text) {
	for (int i = 0; i < WORDS; i++) if (words[i].code == code) return *text = words[i].text, 0;
	return *text = NULL, INVALID_VALUE;
}

int cuDeviceGetCount(int *n) { ENTER(false); *n = setting("devices"); return 0; }
int cuDeviceGet(int *handle, int i) { ENTER(false); *handle = i; return i < setting("devices") ? 0 : INVALID_DEVICE; }
int cuDeviceGetName(char *name, int size, int d) { ENTER(false); snprintf(name, size, "Fake GPU"); return 0; }
int cuDeviceGetUuid_v2(unsigned char *uuid, int d) { ENTER(false); memset(uuid, 0, 16), uuid[15] = d; return 0; }
int cuDeviceGetPCIBusId(char *id, int size, int d) { ENTER(false); snprintf(id, size, "0000:%dB:00.0", d + 1); return 0; }
int cuDeviceTotalMem_v2(size_t *bytes, int d) { ENTER(false); *bytes = (size_t)setting("megabytes") << 20; return 0; }

int cuDeviceGetAttribute(int *value, int attribute, int d) {
	ENTER(false);
	switch (attribute) {
	case 1: case 2: case 3: return *value = 1024, 0;
	case 4: return *value = 64, 0;
	case 5: return *value = 0x7fffffff, 0;
	case 6: case 7: return *value = 65535, 0;
	case 8: return *value = SHARED_PLAIN, 0;
	case 9: case 12: case 82: return *value = 65536, 0;
	case 10: return *value = 32, 0;
	case 13: return *value = 1980000, 0;
	case 16: return *value = SMS, 0;
	case 32: case 41: case 95: case 120: case 127: return *value = 1, 0;
	case 36: return *value = 3201000, 0;
	case 37: return *value = 6144, 0;
	case 38: return *value = 512 << 10, 0;
	case 39: return *value = THREADS_PER_SM, 0;
	case 75: return *value = setting("capability") / 10, 0;
	case 76: return *value = setting("capability") % 10, 0;
	case 81: return *value = SHARED_MOST + 1024, 0;
	case 97: return *value = SHARED_MOST, 0;
	case 106: return *value = BLOCKS_PER_SM, 0;
	case 108: return *value = 128 << 10, 0;
	case 111: return *value = 1024, 0;
	case 17: case 18: return *value = 0, 0;
	}
	return INVALID_VALUE;
}

int cuDevicePrimaryCtxRetain(void **context, int d) {
	ENTER(false);
	if (!initialised) return NOT_INITIALIZED;
	if (devices[d].retained++ == 0) {
		usleep(1000 * setting("context_ms"));
		devices[d].total = (size_t)setting("megabytes") << 20;
		devices[d].limits[0] = 1024, devices[d].limits[1] = 1 << 20, devices[d].limits[2] = 8 << 20;
		devices[d].fallback = (struct stream){.device = d};
		devices[d].fallback.last = &devices[d].fallback.first;
	}
	*context = &devices[d];
	return 0;
}
int cuDevicePrimaryCtxRelease_v2(int d) {
	ENTER(false);
	if (devices[d].retained == 0) return INVALID_CONTEXT;
	if (--devices[d].retained == 0) end_context(d);
	return 0;
}
int cuCtxSetCurrent(struct device *context) {
	ENTER(false);
	here = context ? context - devices : -1;
	return 0;
}
int cuCtxSynchronize(void) { ENTER(true); return run_all(current()); }

// A profiler names a file: kernels that are launched while it looks are listed there.
static bool profiled;
int cuProfilerStart(void) { ENTER(true); profiled = true; note("profiler on"); return 0; }
int cuProfilerStop(void) { ENTER(true); profiled = false; note("profiler off"); return 0; }
void list_profiled(const char *kernel) {
	const char *path = getenv("CUDAFAKE_PROFILE");
	FILE *file = profiled && path ? fopen(path, "a") : NULL;
	if (!file) return;
	fprintf(file, "%s\n", kernel);
	fclose(file);
	if (getenv("CUDAFAKE_HANG")) for (;;) pause(); // as a kernel that waits for another does when it is replayed
}

int cuCtxGetLimit(size_t *value, unsigned limit) {
	ENTER(true);
	if (limit >= 16) return UNSUPPORTED_LIMIT;
	return *value = current()->limits[limit], 0;
}
int cuCtxSetLimit(unsigned limit, size_t value) {
	ENTER(true);
	if (limit >= 16) return UNSUPPORTED_LIMIT;
	return current()->limits[limit] = value, 0;
}
int cuCtxResetPersistingL2Cache(void) { ENTER(true); note("reset L2"); return 0; }
