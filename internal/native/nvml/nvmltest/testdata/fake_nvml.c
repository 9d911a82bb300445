// An NVML with two GPUs that do not exist. See package nvmltest for the
// environment that it heeds. Structures are declared as in nvml.h.
//
// -DOLD leaves out what drivers before 535 lack, and the persistence mode.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INVALID = 2, NOT_SUPPORTED = 3, NO_PERMISSION = 4, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7 };

struct gpu { const char *uuid; unsigned low, high; };
static struct gpu gpus[2] = {
	{"GPU-00000000-0000-0000-0000-000000000000"},
	{"GPU-00000000-0000-0000-0000-000000000001"},
};

static int initialised;

int nvmlInit_v2(void) {
	const char *code = getenv("FAKE_NVML_INIT"), *uuid = getenv("FAKE_NVML_UUID"), *opened = getenv("FAKE_NVML_OPENED");
	FILE *file = opened ? fopen(opened, "w") : NULL;
	if (file) fclose(file);
	if (code) return atoi(code);
	if (uuid) gpus[0].uuid = strdup(uuid);
	initialised = 1;
	return 0;
}

const char *nvmlErrorString(int code) {
	switch (code) {
	case NOT_SUPPORTED: return "Not Supported";
	case NO_PERMISSION: return "Insufficient Permissions";
	case NOT_FOUND: return "Not Found";
	case 9: return "Driver Not Loaded";
	default: return "Unknown Error";
	}
}

// What every function of a device does first.
static int refuse(const char *function, const struct gpu *g) {
	const char *list = getenv("FAKE_NVML_UNSUPPORTED");
	if (!initialised) return 1;
	if (g != &gpus[0] && g != &gpus[1]) return INVALID;
	for (const char *at = list; at && (at = strstr(at, function)); at++) {
		char before = at == list ? ',' : at[-1], after = at[strlen(function)];
		if (before == ',' && (after == ',' || after == 0)) return NOT_SUPPORTED;
	}
	return 0;
}
#define REFUSE(g) do { int code = refuse(__func__, g); if (code) return code; } while (0)

static void note(const char *format, ...) {
	const char *path = getenv("FAKE_NVML_LOG");
	FILE *file = path ? fopen(path, "a") : NULL;
	if (!file) return;
	va_list args;
	va_start(args, format);
	vfprintf(file, format, args);
	va_end(args);
	fclose(file);
}

static int copy(char *to, unsigned size, const char *text) {
	if (strlen(text) >= size) return INSUFFICIENT_SIZE;
	strcpy(to, text);
	return 0;
}

// What FAKE_NVML_FACTS says of a fact, as in "driver=581.00,mig=1"; else the usual.
static const char *fact(const char *name, const char *usual) {
	static char text[64];
	const char *at = getenv("FAKE_NVML_FACTS");
	size_t length = strlen(name);
	for (; at; at = strchr(at, ','), at = at ? at + 1 : NULL)
		if (!strncmp(at, name, length) && at[length] == '=') {
			snprintf(text, sizeof text, "%s", at + length + 1);
			if (strchr(text, ',')) *strchr(text, ',') = 0;
			return text;
		}
	return usual;
}

int nvmlSystemGetDriverVersion(char *text, unsigned size) { return copy(text, size, fact("driver", "580.65.06")); }
int nvmlDeviceGetCount_v2(unsigned *n) { *n = atoi(fact("count", "2")); return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, struct gpu **g) {
	if (i > 1) return INVALID;
	if (fact("denied", NULL)) return NO_PERMISSION;
	return *g = &gpus[i], 0;
}
int nvmlDeviceGetHandleByUUID(const char *uuid, struct gpu **g) {
	for (int i = 0; i < 2; i++) if (!strcmp(uuid, gpus[i].uuid)) { *g = &gpus[i]; return 0; }
	return NOT_FOUND;
}

int nvmlDeviceGetUUID(struct gpu *g, char *text, unsigned size) { REFUSE(g); return copy(text, size, g->uuid); }
struct pci { char old[16]; unsigned domain, bus, device, id, board; char text[32]; };
int nvmlDeviceGetPciInfo_v3(struct gpu *g, struct pci *p) {
	REFUSE(g);
	snprintf(p->text, sizeof p->text, "00000000:%s%d:00.0", fact("bus", "B"), (int)(g - gpus));
	return 0;
}
struct memory { unsigned long long total, unused, used; };
int nvmlDeviceGetMemoryInfo(struct gpu *g, struct memory *m) {
	REFUSE(g);
	*m = (struct memory){strtoull(fact("memory", "17179869184"), NULL, 10), 1, 2};
	return 0;
}
int nvmlDeviceGetMigMode(struct gpu *g, unsigned *now, unsigned *pending) { REFUSE(g); *now = g == &gpus[1] ? atoi(fact("mig", "0")) : 0, *pending = 0; return 0; }
int nvmlDeviceGetEccMode(struct gpu *g, unsigned *now, unsigned *pending) { REFUSE(g); *now = atoi(fact("ecc", "1")), *pending = 0; return 0; }

int nvmlDeviceGetTemperature(struct gpu *g, int sensor, unsigned *t) { REFUSE(g); *t = sensor == 0 ? 41 : 0; return 0; }
int nvmlDeviceGetMaxClockInfo(struct gpu *g, int type, unsigned *mhz) { REFUSE(g); *mhz = type == 2 ? 3201 : 1980; return 0; }
int nvmlDeviceGetClockInfo(struct gpu *g, int type, unsigned *mhz) {
	REFUSE(g);
	*mhz = type == 2 ? 3201 : 1830;
	if (type != 2 && g->high && *mhz > g->high) *mhz = g->high;
	if (type != 2 && g->high && *mhz < g->low) *mhz = g->low;
	return 0;
}
int nvmlDeviceGetPowerUsage(struct gpu *g, unsigned *mw) { REFUSE(g); *mw = 123456; return 0; }
int nvmlDeviceGetEnforcedPowerLimit(struct gpu *g, unsigned *mw) { REFUSE(g); *mw = 700000; return 0; }
int nvmlDeviceGetTotalEnergyConsumption(struct gpu *g, unsigned long long *mj) {
	static unsigned long long total = 8589934592500; // more than 32 bits hold
	REFUSE(g);
	*mj = total += 500;
	return 0;
}
static int reasons(struct gpu *g, unsigned long long *bits) {
	const char *set = getenv("FAKE_NVML_REASONS");
	*bits = set ? strtoull(set, NULL, 0) : 0;
	return 0;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(struct gpu *g, unsigned long long *bits) { REFUSE(g); return reasons(g, bits); }

struct process { unsigned pid; unsigned long long used; unsigned gpu, compute; };
static int processes(struct gpu *g, unsigned *n, struct process *p) {
	const char *set = getenv("FAKE_NVML_PROCESSES");
	unsigned have = set ? atoi(set) : 0, room = *n;
	*n = have;
	if (have > room) return INSUFFICIENT_SIZE;
	for (unsigned i = 0; i < have; i++) p[i] = (struct process){1000 + i, i % 2 ? ~0ull : 1048576ull * i, ~0u, ~0u};
	return 0;
}
int nvmlDeviceGetComputeRunningProcesses_v2(struct gpu *g, unsigned *n, struct process *p) { REFUSE(g); return processes(g, n, p); }

#ifndef OLD
int nvmlDeviceGetCurrentClocksEventReasons(struct gpu *g, unsigned long long *bits) { REFUSE(g); return reasons(g, bits); }
int nvmlDeviceGetComputeRunningProcesses_v3(struct gpu *g, unsigned *n, struct process *p) { REFUSE(g); return processes(g, n, p); }
int nvmlDeviceGetPersistenceMode(struct gpu *g, int *mode) { REFUSE(g); *mode = 1; return 0; }
#endif

int nvmlDeviceGetComputeMode(struct gpu *g, int *mode) { REFUSE(g); *mode = 3; return 0; }

int nvmlDeviceSetGpuLockedClocks(struct gpu *g, unsigned low, unsigned high) {
	REFUSE(g);
	if (getenv("FAKE_NVML_DENY")) return NO_PERMISSION;
	if (low > high) return INVALID;
	g->low = low, g->high = high;
	note("lock %s %u %u\n", g->uuid, low, high);
	return 0;
}
int nvmlDeviceResetGpuLockedClocks(struct gpu *g) {
	REFUSE(g);
	if (getenv("FAKE_NVML_DENY") || getenv("FAKE_NVML_KEEP")) return NO_PERMISSION;
	g->low = g->high = 0;
	note("reset %s\n", g->uuid);
	return 0;
}
