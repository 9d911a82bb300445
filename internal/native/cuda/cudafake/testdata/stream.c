// Streams, events and graphs: when work runs, and how long the device says it took.
#include "fake.h"

#include <time.h>

// What the device takes, in nanoseconds.
enum { LAUNCH_NS = 2000, GRAPH_LAUNCH_NS = 1000, MEMORY_NS = 1000, RECORD_NS = 500 };

struct stream *stream_of(void *handle) { return handle ? handle : &current()->fallback; }

static struct operation *copy_of(const struct operation *o) {
	struct operation *c = malloc(sizeof *c);
	*c = *o;
	c->next = NULL;
	return c;
}

// A stream that captures takes the operation down instead of running it.
int enqueue(struct stream *s, struct operation *o) {
	o->queued = host_now();
	struct operation *c = copy_of(o), ***last = s->captures ? &s->captures->last : &s->last;
	**last = c;
	*last = &c->next;
	return 0;
}

void drop_operations(struct operation *o) {
	for (struct operation *next; o; o = next) {
		next = o->next;
		free(o->staged);
		free(o);
	}
}
static void clear(struct stream *s) {
	drop_operations(s->first);
	s->first = NULL, s->last = &s->first;
}
void drop_streams(struct device *d) {
	for (struct stream *s = d->streams, *next; s; s = next) {
		next = s->next;
		clear(s);
		free(s);
	}
	clear(&d->fallback);
}

static int step(struct device *d, struct stream *s, struct operation *o, bool wait);

// advance does the first operation of a queue. One that fails ends the context.
static int advance(struct device *d, struct stream *s, bool wait) {
	struct operation *o = s->first;
	int code = step(d, s, o, wait);
	if (code == NOT_YET) return code;
	if (code) {
		d->lost = code;
		for (struct stream *all = d->streams; all; all = all->next) clear(all);
		clear(&d->fallback);
		return code;
	}
	if (!(s->first = o->next)) s->last = &s->first;
	o->next = NULL;
	drop_operations(o);
	return 0;
}

// progress does what the device has done by now: all that waits for nobody, in the
// order in which it was queued.
static int progress(struct device *d) {
	for (struct stream *s = d->streams; s; s = s->next) s->stuck = false;
	d->fallback.stuck = false;
	for (;;) {
		struct stream *next = NULL;
		for (struct stream *s = d->streams; s; s = s->next) {
			if (s->first && !s->stuck && (!next || s->first->queued < next->first->queued)) next = s;
		}
		if (d->fallback.first && !d->fallback.stuck && (!next || d->fallback.first->queued < next->first->queued)) next = &d->fallback;
		if (!next) return 0;
		int code = advance(d, next, false);
		if (code == NOT_YET) next->stuck = true;
		else if (code) return code;
	}
}

// run_stream works a queue off, as far as that goes without waiting for the host,
// or to its end.
int run_stream(struct device *d, struct stream *s, bool wait) {
	if (s->captures) return s->spoiled = true, CAPTURE_UNSUPPORTED;
	int code = progress(d);
	if (code) return code;
	while (s->first) {
		if (!wait) return NOT_YET;
		code = advance(d, s, true);
		if (code && code != NOT_YET) return code;
		if (code) nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
	}
	for (uint64_t now; wait && (now = host_now()) < s->now;) {
		if (s->now - now > 200000) nanosleep(&(struct timespec){.tv_nsec = (s->now - now) / 2 % 1000000000}, NULL);
	}
	return host_now() < s->now ? NOT_YET : 0;
}

int run_all(struct device *d) {
	int code = run_stream(d, &d->fallback, true);
	for (struct stream *s = d->streams; s && !code; s = s->next) code = run_stream(d, s, true);
	return code;
}

static int launch(struct stream *s, struct operation *o) {
	const struct kernel *k = o->kernel;
	struct launch *l = &o->launch;
	void *args[12];
	for (int i = 0, at = 0; i < 12 && k->sizes[i]; at += (k->sizes[i] + 15) / 16 * 16, i++) args[i] = o->params + at;
	l->ghz = 1.98;
	l->now = s->now, l->waited = o->waiting ? host_now() - o->waiting : 0;
	if (!o->waiting) o->waiting = host_now();
	int code = k->run(args, l);
	if (code) return code;
	if (l->held && s->now < host_now()) s->now = host_now();
	s->now += l->took + (o->in_graph ? GRAPH_LAUNCH_NS : LAUNCH_NS);
	note("%d kernel %s %llx", s->number, k->name, k->sizes[0] == 8 ? *(unsigned long long *)args[0] : 0);
	return 0;
}

static int step(struct device *d, struct stream *s, struct operation *o, bool wait) {
	if (s->now < o->queued) s->now = o->queued;
	switch (o->kind) {
	case RUN_KERNEL:
		return launch(s, o);
	case FILL:
		if (o->width == 1) memset((void *)o->to, o->value, o->bytes);
		else for (size_t i = 0; i < o->bytes / 4; i++) ((unsigned *)o->to)[i] = o->value;
		s->now += MEMORY_NS + o->bytes / 1000;
		note("%d fill %llx %x %zu", s->number, (unsigned long long)o->to, o->value, o->bytes);
		return 0;
	case COPY:
		memmove((void *)o->to, (void *)o->from, o->bytes);
		s->now += MEMORY_NS + o->bytes / 1000;
		note("%d copy %llx %llx %zu", s->number, (unsigned long long)o->to, (unsigned long long)o->from, o->bytes);
		return 0;
	case RECORD:
		o->event->reached = o->mark, o->event->at = s->now;
		s->now += RECORD_NS;
		note("%d event", s->number);
		return 0;
	case WAIT:
		if (o->event->reached < o->mark) {
			struct stream *other = o->event->stream;
			int code = wait && other->first ? advance(d, other, true) : NOT_YET;
			return code ? code : NOT_YET;
		}
		if (s->now < o->event->at) s->now = o->event->at;
		return 0;
	}
	return INVALID_VALUE;
}

// ---- streams

int cuStreamCreate(struct stream **made, unsigned flags) {
	ENTER(true);
	struct device *d = current();
	struct stream *s = calloc(1, sizeof *s);
	s->device = current_index(), s->number = ++d->count, s->last = &s->first;
	s->next = d->streams, d->streams = s;
	*made = s;
	return 0;
}
int cuStreamDestroy_v2(struct stream *s) {
	ENTER(true);
	int code = run_stream(current(), s, true);
	for (struct stream **at = &current()->streams; *at; at = &(*at)->next) {
		if (*at != s) continue;
		*at = s->next;
		clear(s);
		free(s);
		return code;
	}
	return INVALID_HANDLE;
}
int cuStreamSynchronize(void *stream) {
	ENTER(true);
	return run_stream(current(), stream_of(stream), true);
}
int cuStreamQuery(void *stream) {
	ENTER(true);
	return run_stream(current(), stream_of(stream), false);
}
int cuStreamWaitEvent(void *stream, struct event *e, unsigned flags) {
	ENTER(true);
	struct operation o = {.kind = WAIT, .event = e, .mark = e->marked};
	return e->marked ? enqueue(stream_of(stream), &o) : 0;
}
int cuStreamGetAttribute(void *stream, int which, struct window *value) {
	ENTER(true);
	return which == 1 ? (*value = stream_of(stream)->window, 0) : INVALID_VALUE;
}
int cuStreamSetAttribute(void *stream, int which, const struct window *value) {
	ENTER(true);
	return which == 1 ? (stream_of(stream)->window = *value, 0) : INVALID_VALUE;
}

// ---- events

int cuEventCreate(struct event **made, unsigned flags) {
	ENTER(true);
	*made = calloc(1, sizeof **made);
	(*made)->flags = flags;
	return 0;
}
int cuEventDestroy_v2(struct event *e) {
	ENTER(true);
	int code = e->marked > e->reached ? run_stream(current(), e->stream, true) : 0;
	free(e);
	return code;
}
int cuEventRecord(struct event *e, void *stream) {
	ENTER(true);
	struct operation o = {.kind = RECORD, .event = e, .mark = ++e->marked};
	e->stream = stream_of(stream);
	return enqueue(e->stream, &o);
}
int cuEventSynchronize(struct event *e) {
	ENTER(true);
	return e->marked > e->reached ? run_stream(current(), e->stream, true) : 0;
}
int cuEventQuery(struct event *e) {
	ENTER(true);
	int code = progress(current());
	return code ? code : e->marked > e->reached ? NOT_YET : 0;
}
int cuEventElapsedTime(float *ms, struct event *start, struct event *end) {
	ENTER(true);
	if ((start->flags | end->flags) & 2 || !start->marked || !end->marked) return INVALID_HANDLE;
	if (start->marked > start->reached || end->marked > end->reached) return NOT_YET;
	*ms = (double)(int64_t)(end->at - start->at) * 1e-6;
	return 0;
}

// ---- graphs

int cuStreamBeginCapture_v2(void *stream, int mode) {
	ENTER(true);
	struct stream *s = stream_of(stream);
	if (s->captures || !stream) return CAPTURE_UNSUPPORTED;
	s->captures = calloc(1, sizeof *s->captures);
	s->captures->last = &s->captures->first, s->spoiled = false;
	return 0;
}
int cuStreamEndCapture(void *stream, struct graph **made) {
	ENTER(true);
	struct stream *s = stream_of(stream);
	if (!s->captures) return ILLEGAL_STATE;
	*made = s->captures, s->captures = NULL;
	if (!s->spoiled) return 0;
	drop_operations((*made)->first);
	free(*made);
	return *made = NULL, CAPTURE_INVALIDATED;
}
int cuGraphInstantiateWithFlags(struct graph **made, struct graph *g, unsigned long long flags) {
	ENTER(true);
	struct graph *copy = calloc(1, sizeof *copy);
	copy->last = &copy->first;
	for (struct operation *o = g->first; o; o = o->next) {
		struct operation *c = copy_of(o);
		if (o->staged) c->staged = memcpy(malloc(o->bytes), o->staged, o->bytes), c->from = (address)c->staged;
		*copy->last = c, copy->last = &c->next;
	}
	*made = copy;
	return 0;
}
int cuGraphLaunch(struct graph *g, void *stream) {
	ENTER(true);
	note("%d graph", stream_of(stream)->number);
	for (struct operation *o = g->first; o; o = o->next) {
		struct operation c = *o;
		c.in_graph = true, c.staged = NULL, c.waiting = 0;
		int code = enqueue(stream_of(stream), &c);
		if (code) return code;
	}
	return 0;
}
int cuGraphUpload(struct graph *g, void *stream) { ENTER(true); return 0; }
static int destroy(struct graph *g) { drop_operations(g->first); free(g); return 0; }
int cuGraphDestroy(struct graph *g) { ENTER(true); return destroy(g); }
int cuGraphExecDestroy(struct graph *g) { ENTER(true); return destroy(g); }
