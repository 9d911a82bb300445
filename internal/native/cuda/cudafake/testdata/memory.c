// Memory of the devices, which is the host's, and copies of it.
#include "fake.h"

static struct range { struct range *next; address at; size_t bytes; int device; bool host; } *ranges;

void own(address at, size_t bytes, int device, bool host) {
	struct range *r = malloc(sizeof *r);
	*r = (struct range){ranges, at, bytes, device, host};
	ranges = r;
}
void disown(address at) {
	for (struct range **r = &ranges; *r; r = &(*r)->next) {
		if ((*r)->at != at) continue;
		struct range *gone = *r;
		*r = gone->next;
		free(gone);
		return;
	}
}
static struct range *find(address at, size_t bytes) {
	for (struct range *r = ranges; r; r = r->next) if (at >= r->at && at + bytes <= r->at + r->bytes) return r;
	return NULL;
}
bool is_device_memory(address at, size_t bytes) {
	struct range *r = find(at, bytes);
	return r && (r->host || r->device == current_index());
}
bool is_host_memory(address at, size_t bytes) {
	struct range *r = find(at, bytes);
	return r && r->host;
}
void free_all(int device) {
	for (struct range **r = &ranges; *r;) {
		struct range *gone = *r;
		if (gone->device != device) { r = &gone->next; continue; }
		*r = gone->next;
		if (gone->device >= 0) free((void *)gone->at);
		free(gone);
	}
}

int cuMemAlloc_v2(address *at, size_t bytes) {
	ENTER(true);
	struct device *d = current();
	void *memory;
	if (bytes == 0) return INVALID_VALUE;
	if (bytes > d->total - d->used || posix_memalign(&memory, 512, bytes)) return OUT_OF_MEMORY;
	memset(memory, 0xcd, bytes < 1 << 22 ? bytes : 1 << 22); // what was there before
	own((address)memory, bytes, current_index(), false);
	d->used += bytes;
	*at = (address)memory;
	return 0;
}
int cuMemFree_v2(address at) {
	ENTER(true);
	struct range *r = find(at, 1);
	if (!r || r->at != at || r->host || r->device != current_index()) return INVALID_VALUE;
	int code = run_all(current());
	current()->used -= r->bytes;
	free((void *)at);
	disown(at);
	return code;
}
int cuMemGetInfo_v2(size_t *available, size_t *total) {
	ENTER(true);
	*total = current()->total, *available = *total - current()->used;
	return 0;
}

int cuMemHostAlloc(void **at, size_t bytes, unsigned flags) {
	ENTER(true);
	if (posix_memalign(at, 4096, bytes)) return OUT_OF_MEMORY;
	memset(*at, 0, bytes);
	own((address)*at, bytes, current_index(), true);
	return 0;
}
int cuMemHostGetDevicePointer_v2(address *at, void *host, unsigned flags) {
	ENTER(true);
	return is_host_memory((address)host, 1) ? (*at = (address)host, 0) : INVALID_VALUE;
}
int cuMemFreeHost(void *at) {
	ENTER(true);
	if (!is_host_memory((address)at, 1)) return INVALID_VALUE;
	disown((address)at);
	free(at);
	return 0;
}

static int fill(address to, unsigned value, unsigned width, size_t count, void *stream) {
	if (!is_device_memory(to, count * width)) return INVALID_VALUE;
	struct operation o = {.kind = FILL, .to = to, .value = value, .width = width, .bytes = count * width};
	return enqueue(stream_of(stream), &o);
}
int cuMemsetD8Async(address to, unsigned char value, size_t count, void *stream) { ENTER(true); return fill(to, value, 1, count, stream); }
int cuMemsetD32Async(address to, unsigned value, size_t count, void *stream) { ENTER(true); return fill(to, value, 4, count, stream); }

int cuMemcpyDtoDAsync_v2(address to, address from, size_t bytes, void *stream) {
	ENTER(true);
	if (!is_device_memory(to, bytes) || !is_device_memory(from, bytes)) return INVALID_VALUE;
	struct operation o = {.kind = COPY, .to = to, .from = from, .bytes = bytes};
	return enqueue(stream_of(stream), &o);
}

// From memory that is not page-locked the bytes are taken at once.
int cuMemcpyHtoDAsync_v2(address to, const void *from, size_t bytes, void *stream) {
	ENTER(true);
	if (bytes == 0) return 0;
	if (!is_device_memory(to, bytes)) return INVALID_VALUE;
	struct operation o = {.kind = COPY, .to = to, .from = (address)from, .bytes = bytes};
	if (!is_host_memory(o.from, bytes)) {
		o.staged = memcpy(malloc(bytes), from, bytes);
		o.from = (address)o.staged;
	}
	return enqueue(stream_of(stream), &o);
}
// Into memory that is not page-locked the bytes are there when it returns.
int cuMemcpyDtoHAsync_v2(void *to, address from, size_t bytes, void *stream) {
	ENTER(true);
	if (bytes == 0) return 0;
	if (!is_device_memory(from, bytes)) return INVALID_VALUE;
	struct operation o = {.kind = COPY, .to = (address)to, .from = from, .bytes = bytes};
	int code = enqueue(stream_of(stream), &o);
	if (code || is_host_memory(o.to, bytes)) return code;
	return run_stream(current(), stream_of(stream), true);
}
