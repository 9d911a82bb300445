// Modules: what an image holds, and what is known of its kernels and variables.
#include "fake.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#ifdef __x86_64__
enum { HOST_MACHINE = EM_X86_64 };
#else
enum { HOST_MACHINE = EM_AARCH64 };
#endif

struct variable { const char *name; address at; size_t bytes; };

struct function { const struct kernel *kernel; struct module *module; int shared_most, big_cluster; };

struct module {
	char *image;
	void *library; // of an image that was made from C
	struct function functions[32];
	struct variable variables[16];
	address memory[3]; // of its variables
	int functions_n, variables_n;
};

static bool has(const char *image, size_t size, const char *text) { return memmem(image, size, text, strlen(text)); }

static void add(struct module *m, const struct kernel *k) {
	if (m->functions_n < 32) m->functions[m->functions_n++] = (struct function){.kernel = k, .module = m};
}

// A driver is told no size: an ELF file ends where the last of its parts does.
static size_t size_of(const char *image, bool elf) {
	if (!elf) return strlen(image);
	const Elf64_Ehdr *h = (const void *)image;
	size_t size = h->e_shoff + (size_t)h->e_shnum * h->e_shentsize, programs = h->e_phoff + (size_t)h->e_phnum * h->e_phentsize;
	if (programs > size) size = programs;
	const Elf64_Shdr *s = (const void *)(image + h->e_shoff);
	for (int i = 0; i < h->e_shnum; i++) if (s[i].sh_type != SHT_NOBITS && s[i].sh_offset + s[i].sh_size > size) size = s[i].sh_offset + s[i].sh_size;
	return size;
}

// A segment of an image's variables: the nth, where it is loaded and how long it is.
static const Elf64_Shdr *segment(const char *image, int n, int *number) {
	const Elf64_Ehdr *h = (const void *)image;
	const Elf64_Shdr *s = (const void *)(image + h->e_shoff);
	const char *names = image + s[h->e_shstrndx].sh_offset;
	for (int i = 0; i < h->e_shnum; i++) {
		const char *name = names + s[i].sh_name;
		if ((!strncmp(name, ".nv.global", 10) || !strcmp(name, ".nv.constant3")) && n-- == 0) return *number = i, &s[i];
	}
	return NULL;
}

// The memory that a module keeps its variables in is nobody's device's in particular.
static void own_segment(struct module *m, int n, address at, size_t bytes) { m->memory[n] = at, own(at, bytes, -1, true); }

// An image that package cudafake made is a shared object in disguise. Each module
// has its own copy of it, and so of its variables.
static int open_library(struct module *m, size_t size) {
	char path[256];
	const char *folder = getenv("TMPDIR");
	snprintf(path, sizeof path, "%s/fake-module-XXXXXX", folder && *folder ? folder : "/tmp");
	int file = mkstemp(path);
	if (file < 0) return OUT_OF_MEMORY;
	((Elf64_Ehdr *)m->image)->e_machine = HOST_MACHINE;
	bool written = write(file, m->image, size) == (ssize_t)size;
	close(file);
	m->library = written ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
	if (!m->library) fprintf(stderr, "fake libcuda: %s\n", dlerror());
	unlink(path);
	const struct kernel *(*list)(int) = m->library ? dlsym(m->library, "fake_kernel_list") : NULL;
	struct link_map *map;
	if (!list || dlinfo(m->library, RTLD_DI_LINKMAP, &map)) return INVALID_IMAGE;
	for (int i = 0; list(i); i++) add(m, list(i));
	const Elf64_Shdr *s;
	for (int n = 0, unused; n < 3 && (s = segment(m->image, n, &unused)); n++) own_segment(m, n, map->l_addr + s->sh_addr, s->sh_size);
	return 0;
}

// Variables of a cubin that a real compiler made lie as its segments say.
static void place_variables(struct module *m) {
	const Elf64_Ehdr *h = (const void *)m->image;
	const Elf64_Shdr *all = (const void *)(m->image + h->e_shoff), *s;
	for (int n = 0, number; n < 3 && (s = segment(m->image, n, &number)); n++) {
		void *memory = calloc(1, s->sh_size);
		if (s->sh_type != SHT_NOBITS) memcpy(memory, m->image + s->sh_offset, s->sh_size);
		own_segment(m, n, (address)memory, s->sh_size);
		for (int t = 0; t < h->e_shnum; t++) {
			if (all[t].sh_type != SHT_SYMTAB) continue;
			const Elf64_Sym *symbols = (const void *)(m->image + all[t].sh_offset);
			const char *text = m->image + all[all[t].sh_link].sh_offset;
			for (size_t k = 0; k < all[t].sh_size / sizeof *symbols; k++) {
				if (symbols[k].st_shndx != number || ELF64_ST_TYPE(symbols[k].st_info) != STT_OBJECT || m->variables_n == 16) continue;
				m->variables[m->variables_n++] = (struct variable){text + symbols[k].st_name, m->memory[n] + symbols[k].st_value, symbols[k].st_size};
			}
		}
	}
}

// The one variable of PTX that is known here.
static void place_table(struct module *m) {
	if (!strstr(m->image, " table[")) return;
	static const int values[4] = {2, 3, 5, 7};
	own_segment(m, 0, (address)memcpy(malloc(sizeof values), values, sizeof values), sizeof values);
	m->variables[m->variables_n++] = (struct variable){"table", m->memory[0], sizeof values};
}

static int say(unsigned n, const unsigned *options, void **values, unsigned which, const char *text) {
	for (unsigned i = 0; i < n; i++) if (options[i] == which) strcpy(values[i], text);
	return INVALID_PTX;
}

int cuModuleLoadDataEx(struct module **made, const char *image, unsigned n, const unsigned *options, void **values) {
	ENTER(true);
	bool elf = !strncmp(image, ELFMAG, SELFMAG);
	// Nothing behind the first bytes of what only begins like a cubin may be looked at.
	if (elf && (image[EI_CLASS] != ELFCLASS64 || image[EI_DATA] != ELFDATA2LSB || ((const Elf64_Ehdr *)image)->e_machine != 190)) return INVALID_IMAGE;
	size_t size = size_of(image, elf);
	if (!elf && has(image, size, "nonsense")) return say(n, options, values, 5, "ptxas: line 1; fatal: unknown modifier .nonsense");
	if (!elf && !has(image, size, ".version")) return say(n, options, values, 5, "ptxas: no PTX");
	struct module *m = calloc(1, sizeof *m);
	m->image = memcpy(calloc(1, size + 1), image, size);
	int code = 0;
	if (has(image, size, "fake_kernel_list")) code = open_library(m, size);
	else {
		char quoted[80];
		for (int i = 0; kernels_here(i); i++) {
			snprintf(quoted, sizeof quoted, elf ? ".text.%s" : ".entry %s(", kernels_here(i)->name);
			if (has(image, size, quoted)) add(m, kernels_here(i));
		}
		if (elf) place_variables(m);
		else place_table(m);
		if (!m->functions_n) code = INVALID_IMAGE;
	}
	if (code) return free(m->image), free(m), code;
	*made = m;
	return 0;
}
int cuModuleUnload(struct module *m) {
	ENTER(true);
	int code = run_all(current());
	for (int i = 0; i < 3; i++) {
		if (!m->memory[i]) continue;
		disown(m->memory[i]);
		if (!m->library) free((void *)m->memory[i]);
	}
	if (m->library) dlclose(m->library);
	free(m->image), free(m);
	return code;
}

static int global_of(struct module *m, const char *name, address *at, size_t *bytes) {
	for (int i = 0; i < m->variables_n; i++) {
		if (!strcmp(m->variables[i].name, name)) return *at = m->variables[i].at, *bytes = m->variables[i].bytes, 0;
	}
	struct link_map *map;
	if (!m->library || dlinfo(m->library, RTLD_DI_LINKMAP, &map)) return NOT_FOUND;
	const Elf64_Ehdr *h = (const void *)m->image;
	const Elf64_Shdr *all = (const void *)(m->image + h->e_shoff);
	for (int t = 0; t < h->e_shnum; t++) {
		if (all[t].sh_type != SHT_DYNSYM) continue; // which has no static ones: a driver does not find them either
		const Elf64_Sym *symbols = (const void *)(m->image + all[t].sh_offset);
		const char *text = m->image + all[all[t].sh_link].sh_offset;
		for (size_t k = 0; k < all[t].sh_size / sizeof *symbols; k++) {
			if (strcmp(text + symbols[k].st_name, name) || !symbols[k].st_size) continue;
			return *at = map->l_addr + symbols[k].st_value, *bytes = symbols[k].st_size, 0;
		}
	}
	return NOT_FOUND;
}
// Kernels that are built into the driver find their module's variables here.
void *fake_variable(void *module, const char *name) {
	address at = 0;
	size_t bytes;
	return module && global_of(module, name, &at, &bytes) == 0 ? (void *)at : NULL;
}
int cuModuleGetGlobal_v2(address *at, size_t *bytes, struct module *m, const char *name) { ENTER(true); return global_of(m, name, at, bytes); }

int cuModuleGetFunction(struct function **f, struct module *m, const char *name) {
	ENTER(true);
	for (int i = 0; i < m->functions_n; i++) if (!strcmp(m->functions[i].kernel->name, name)) return *f = &m->functions[i], 0;
	return NOT_FOUND;
}
int cuModuleGetFunctionCount(unsigned *n, struct module *m) { ENTER(true); return *n = m->functions_n, 0; }
int cuModuleEnumerateFunctions(struct function **all, unsigned n, struct module *m) {
	ENTER(true);
	for (unsigned i = 0; i < n && i < (unsigned)m->functions_n; i++) all[i] = &m->functions[i];
	return 0;
}

// ---- functions

int cuFuncGetName(const char **name, struct function *f) { ENTER(true); return *name = f->kernel->name, 0; }
int cuFuncGetParamInfo(struct function *f, size_t i, size_t *offset, size_t *size) {
	ENTER(true);
	if (i >= 12 || !f->kernel->sizes[i]) return INVALID_VALUE;
	return *offset = 8 * i, *size = f->kernel->sizes[i], 0;
}
static int threads_most(struct function *f) { return f->kernel->max_threads ? (int)f->kernel->max_threads : 1024; }
int cuFuncGetAttribute(int *value, int which, struct function *f) {
	ENTER(true);
	switch (which) {
	case 0: return *value = threads_most(f), 0;
	case 1: case 2: case 3: return *value = 0, 0;
	case 4: return *value = f->kernel->registers ? (int)f->kernel->registers : 32, 0;
	case 5: return *value = 75, 0;
	case 6: return *value = setting("capability"), 0;
	}
	return INVALID_VALUE;
}
int cuFuncSetAttribute(struct function *f, int which, int value) {
	ENTER(true);
	switch (which) {
	case 8: return value > SHARED_MOST ? INVALID_VALUE : (f->shared_most = value, 0);
	case 9: return 0;
	case 14: return f->big_cluster = value, 0;
	}
	return INVALID_VALUE;
}

static int blocks_on_sm(int threads, unsigned shared) {
	int blocks = THREADS_PER_SM / threads, room = shared ? (SHARED_MOST + 1024) / (int)shared : blocks;
	if (blocks > BLOCKS_PER_SM) blocks = BLOCKS_PER_SM;
	return room < blocks ? room : blocks;
}
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, struct function *f, int threads, size_t shared) {
	ENTER(true);
	return threads < 1 ? INVALID_VALUE : (*blocks = blocks_on_sm(threads, shared), 0);
}

struct attribute { unsigned id; char pad[4]; union { char bytes[64]; int number; unsigned cluster[3]; } value; };
struct config { unsigned grid[3], block[3], shared; void *stream; struct attribute *attributes; unsigned n; };

int cuOccupancyMaxActiveClusters(int *clusters, struct function *f, const struct config *c) {
	ENTER(true);
	unsigned size = 1;
	for (unsigned i = 0; i < c->n; i++) if (c->attributes[i].id == 4) size = c->attributes[i].value.cluster[0];
	return *clusters = SMS * blocks_on_sm(c->block[0], c->shared) / size, 0;
}

int cuLaunchKernelEx(const struct config *c, struct function *f, void **params, void **extra) {
	ENTER(true);
	struct stream *s = stream_of(c->stream);
	struct operation o = {.kind = RUN_KERNEL, .kernel = f->kernel};
	unsigned threads = c->block[0] * c->block[1] * c->block[2], blocks = c->grid[0] * c->grid[1] * c->grid[2];
	memcpy(o.launch.grid, c->grid, sizeof c->grid), memcpy(o.launch.block, c->block, sizeof c->block);
	o.launch.shared = c->shared, o.launch.module = f->module;
	for (unsigned i = 0; i < c->n; i++) {
		const struct attribute *a = &c->attributes[i];
		if (a->id == 4) memcpy(o.launch.cluster, a->value.cluster, sizeof o.launch.cluster);
		if (a->id == 4 && a->value.cluster[0] * a->value.cluster[1] * a->value.cluster[2] > (f->big_cluster ? 16u : 8u)) return INVALID_CLUSTER;
		if (a->id == 2 && a->value.number && blocks > (unsigned)(SMS * blocks_on_sm(threads, c->shared))) return TOO_LARGE;
	}
	if (!threads || !blocks || threads > 1024 || c->shared > (unsigned)(f->shared_most ? f->shared_most : SHARED_PLAIN)) return INVALID_VALUE;
	if (threads > (unsigned)threads_most(f)) return OUT_OF_RESOURCES;
	for (int i = 0, at = 0; i < 12 && f->kernel->sizes[i]; at += (f->kernel->sizes[i] + 15) / 16 * 16, i++) {
		memcpy(o.params + at, params[i], f->kernel->sizes[i]);
	}
	list_profiled(f->kernel->name);
	return enqueue(s, &o);
}

// What a launcher calls: its kernels are in its own shared object.
int fake_launch(const struct kernel *k, void *stream, void **params) {
	struct function f = {.kernel = k};
	struct config c = {{1, 1, 1}, {32, 1, 1}, 0, stream};
	return cuLaunchKernelEx(&c, &f, params, NULL);
}

// ---- tensor maps: the description itself, for kernels that read it

struct tensor_map { address at; uint64_t dims[5], strides[4]; unsigned box[5]; int rank; };

int cuTensorMapEncodeTiled(struct tensor_map *map, int type, unsigned rank, void *at, const uint64_t *dims, const uint64_t *strides,
	const unsigned *box, const unsigned *steps, int interleave, int swizzle, int promotion, int fill) {
	ENTER(true);
	struct tensor_map m = {.at = (address)at, .rank = rank};
	for (unsigned i = 0; i < rank; i++) {
		if (box[i] > 256 || !dims[i]) return INVALID_VALUE;
		m.dims[i] = dims[i], m.box[i] = box[i];
		if (i + 1 < rank && (m.strides[i] = strides[i]) % 16) return INVALID_VALUE;
	}
	if ((uintptr_t)map % 64 || m.at % 16 || sizeof m > 128) return INVALID_VALUE;
	memset(map, 0, 128);
	return *map = m, 0;
}
