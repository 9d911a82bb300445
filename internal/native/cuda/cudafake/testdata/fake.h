// The inside of the fake driver; see package cudafake.
#pragma once
#define _GNU_SOURCE
#define FAKE_DRIVER
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel.h"

enum {
	INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_INITIALIZED = 3, INVALID_DEVICE = 101, INVALID_IMAGE = 200, INVALID_CONTEXT = 201,
	UNSUPPORTED_LIMIT = 215, INVALID_PTX = 218, INVALID_HANDLE = 400, ILLEGAL_STATE = 401, NOT_FOUND = 500, OUT_OF_RESOURCES = 701,
	TOO_LARGE = 720, CAPTURE_UNSUPPORTED = 900, CAPTURE_INVALIDATED = 901, INVALID_CLUSTER = 912,
};

enum { DEVICES = 2, SMS = 4, SHARED_PLAIN = 48 << 10, SHARED_MOST = 227 << 10, THREADS_PER_SM = 2048, BLOCKS_PER_SM = 32 };

typedef uint64_t address;

struct window { address base; size_t bytes; float ratio; int hit, miss; char rest[36]; };

// A queue runs when somebody waits or asks for the device, each operation as
// late as the one before it and as its own enqueuing allow.
struct stream {
	struct stream *next;
	int device, number;
	struct operation *first, **last;
	uint64_t now; // when its last operation ended
	struct graph *captures;
	bool spoiled; // the capture, by a call that a capture forbids
	bool stuck;   // its first operation waits for somebody
	struct window window;
};

struct operation {
	enum { RUN_KERNEL, FILL, COPY, RECORD, WAIT } kind;
	struct operation *next;
	uint64_t queued; // by the host's clock
	const struct kernel *kernel;
	struct launch launch;
	uint64_t waiting; // since when its kernel is not ready; 0: it was not asked
	unsigned char params[4096];
	address to, from;
	size_t bytes;
	unsigned value, width;
	struct event *event;
	uint64_t mark; // of the event
	void *staged;  // what was copied from the host, until it is used
	bool in_graph;
};

struct event { int flags; uint64_t marked, reached, at; struct stream *stream; };
struct graph { struct operation *first, **last; };

struct device {
	size_t total, used;
	int retained, lost; // lost: the code that ended the context
	uint64_t limits[16];
	struct stream *streams, fallback;
	int count; // of streams ever made
};

extern struct device devices[DEVICES];
extern pthread_mutex_t lock;

struct device *current(void);
int current_index(void);
int enter(const char *function, bool needs_context);
void note(const char *format, ...);
void list_profiled(const char *kernel);
uint64_t host_now(void);
int setting(const char *name);

bool is_device_memory(address at, size_t bytes);
bool is_host_memory(address at, size_t bytes);
void own(address at, size_t bytes, int device, bool host);
void disown(address at);
void free_all(int device);

int enqueue(struct stream *s, struct operation *o);
struct stream *stream_of(void *handle);
int run_all(struct device *d);
int run_stream(struct device *d, struct stream *s, bool wait);
void drop_operations(struct operation *first);
void drop_streams(struct device *d);

// Every function of the driver begins so; a call may be told to fail.
#define ENTER(context) \
	__attribute__((cleanup(leave))) int entered = enter(__func__, context); \
	if (entered) return entered
static inline void leave(int *unused) { (void)unused; pthread_mutex_unlock(&lock); }
