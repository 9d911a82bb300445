// pawl's own kernels (internal/worker/cell/kernels/helpers.cu), bit for bit.
#include "fake.h"

#include <math.h>

static const uint64_t golden = 0x9e3779b97f4a7c15ull;

static uint64_t mix(uint64_t z) {
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}
static uint64_t draw(uint64_t key, uint64_t n) { return mix(key + (n + 1) * golden); }
static uint64_t high(uint64_t a, uint64_t b) { return (unsigned __int128)a * b >> 64; }

enum { NORMAL, UNIFORM, INTEGERS, CONSTANT, IOTA, ROWS, OUTLIERS, SPECIALS };
enum { F64, F32, F16, BF16, E4M3, E5M2, I8, I16, I32, I64, U8, U16, U32, U64 };

struct fill { int kind; uint64_t key; double a, b, factor; int64_t low; uint64_t range, mask; };

static const uint64_t special_bits[6][6] = {
	{0x7ff8000000000000, 0x7ff0000000000000, 0xfff0000000000000, 0x8000000000000000, 1, 0x7fefffffffffffff},
	{0x7fc00000, 0x7f800000, 0xff800000, 0x80000000, 1, 0x7f7fffff},
	{0x7e00, 0x7c00, 0xfc00, 0x8000, 1, 0x7bff},
	{0x7fc0, 0x7f80, 0xff80, 0x8000, 1, 0x7f7f},
	{0x7f, 0x7e, 0xfe, 0x80, 1, 0x7e},
	{0x7e, 0x7c, 0xfc, 0x80, 1, 0x7b},
};

static bool outlier(const struct fill *f, uint64_t i) { return f->kind == OUTLIERS && i % f->range % 16 == draw(f->key, ~0ull) % 16; }

static double generate64(const struct fill *f, uint64_t i) {
	if (f->kind == UNIFORM) return (f->b - f->a) * ((double)(int64_t)(draw(f->key, i) >> 11) * 0x1p-53) + f->a;
	if (f->kind == CONSTANT) return f->a;
	uint64_t n = f->kind == ROWS ? i / f->range : i;
	int64_t sum = -4 * (((int64_t)1 << 32) - 1);
	for (int d = 0; d < 4; d++) {
		uint64_t u = draw(f->key, 4 * n + d);
		sum += (int64_t)(u >> 32) + (int64_t)(uint32_t)u;
	}
	uint64_t scale = 0x3df3988e1409212e;
	double unit, v;
	memcpy(&unit, &scale, 8);
	v = (double)sum * unit * f->b + f->a;
	return outlier(f, i) ? v * f->factor : v;
}

static float generate32(const struct fill *f, uint64_t i) {
	float a = f->a, b = f->b;
	if (f->kind == UNIFORM) return (b - a) * ((float)(int32_t)(draw(f->key, i) >> 40) * 0x1p-24f) + a;
	if (f->kind == CONSTANT) return a;
	uint64_t n = f->kind == ROWS ? i / f->range : i;
	int32_t sum = -262140;
	for (int d = 0; d < 2; d++) {
		uint64_t u = draw(f->key, 2 * n + d);
		sum += (int32_t)(u & 0xffff) + (int32_t)(u >> 16 & 0xffff) + (int32_t)(u >> 32 & 0xffff) + (int32_t)(u >> 48);
	}
	uint32_t scale = 0x379cc471;
	float unit, v;
	memcpy(&unit, &scale, 4);
	v = (float)sum * unit * b + a;
	return outlier(f, i) ? v * (float)f->factor : v;
}

// narrow rounds to a float of fewer bits, to the nearest and then to even; past
// the greatest it is saturated, or infinite.
static uint32_t narrow(float value, int exponents, int mantissa, uint32_t greatest, bool saturates) {
	uint32_t sign = signbit(value) ? 1u << (exponents + mantissa) : 0;
	int least = 2 - (1 << (exponents - 1)); // exponent of the smallest normal number
	double v = fabs((double)value);
	if (!isfinite(v)) return sign | (greatest + !saturates);
	int exponent = v == 0 ? least : ilogb(v);
	if (exponent < least) exponent = least;
	uint64_t units = rint(ldexp(v, mantissa - exponent)); // with the implicit bit, which a subnormal number lacks
	uint64_t bits = units + ((uint64_t)(exponent - least) << mantissa);
	if (bits > greatest) bits = saturates ? greatest : greatest + 1;
	return sign | (uint32_t)bits;
}

static void store_bits(void *to, uint64_t i, int type, int64_t v) {
	switch (type) {
	case I8: case U8: case E4M3: case E5M2: ((int8_t *)to)[i] = v; break;
	case I16: case U16: case F16: case BF16: ((int16_t *)to)[i] = v; break;
	case I32: case U32: case F32: ((int32_t *)to)[i] = v; break;
	case I64: case U64: case F64: ((int64_t *)to)[i] = v; break;
	}
}
static void store_float(void *to, uint64_t i, int type, float v) {
	switch (type) {
	case F32: ((float *)to)[i] = v; break;
	case F16: store_bits(to, i, type, narrow(v, 5, 10, 0x7bff, false)); break;
	case BF16: store_bits(to, i, type, narrow(v, 8, 7, 0x7f7f, false)); break;
	case E4M3: store_bits(to, i, type, narrow(v, 4, 3, 0x7e, true)); break;
	case E5M2: store_bits(to, i, type, narrow(v, 5, 2, 0x7b, true)); break;
	}
}

// put stores element number n of a fill as element i.
static void put(void *to, uint64_t i, int type, const struct fill *f, uint64_t n) {
	if (f->kind == SPECIALS) {
		uint64_t u = draw(mix(f->key), n);
		if (u % f->range == 0) {
			store_bits(to, i, type, special_bits[type][u / f->range % 6]);
			return;
		}
	}
	if (f->kind == INTEGERS || f->kind == IOTA || type >= I8) {
		int64_t v = f->kind == INTEGERS ? f->low + (int64_t)high(draw(f->key, n), f->range) : f->kind == IOTA ? (int64_t)(n & f->mask) : f->low;
		if (type >= I8) store_bits(to, i, type, v);
		else if (type == F64) ((double *)to)[i] = v;
		else store_float(to, i, type, v);
	} else if (type == F64) ((double *)to)[i] = generate64(f, n);
	else store_float(to, i, type, generate32(f, n));
}

static size_t width(int type) {
	static const size_t widths[] = {8, 4, 2, 2, 1, 1, 1, 2, 4, 8, 1, 2, 4, 8};
	return widths[type];
}

// Whoever leaves the memory that was allocated is told so, unlike a kernel of the tests'.
#define INSIDE(at, bytes) do { if (!is_device_memory((address)(at), bytes)) return ILLEGAL_ADDRESS; } while (0)

KERNEL(pawl_generate, 8, 8, 4, 64) {
	uint64_t count = ARG(uint64_t, 1);
	INSIDE(ARG(void *, 0), count * width(ARG(int, 2)));
	for (uint64_t i = 0; i < count; i++) put(ARG(void *, 0), i, ARG(int, 2), args[3], i);
	return 0;
}

KERNEL(pawl_mutate, 8, 8, 4, 64, 8, 8) {
	const struct fill *f = args[3];
	uint64_t count = ARG(uint64_t, 1), places = mix(f->key + 1);
	INSIDE(ARG(void *, 0), count * width(ARG(int, 2)));
	for (uint64_t step = ARG(uint64_t, 4); step <= ARG(uint64_t, 5); step++) {
		for (uint64_t n = 8 * step; n < 8 * step + l->block[0]; n++) put(ARG(void *, 0), high(draw(places, n), count), ARG(int, 2), f, count + n);
	}
	return 0;
}

KERNEL(pawl_pattern, 8, 8, 8) {
	unsigned char *to = ARG(unsigned char *, 0);
	uint64_t bytes = ARG(uint64_t, 1), pattern = ARG(uint64_t, 2);
	INSIDE(to, bytes);
	for (uint64_t i = 0; i < bytes; i++) to[i] = pattern >> 8 * (i % 8);
	return 0;
}

KERNEL(pawl_read, 8, 8, 8) {
	const uint64_t *from = ARG(uint64_t *, 0);
	volatile uint64_t sum = 0;
	INSIDE(from, 16 * ARG(uint64_t, 1));
	for (uint64_t i = 0; i < 2 * ARG(uint64_t, 1); i += 8) sum |= from[i]; // a line at a time
	return 0;
}

KERNEL(pawl_block, 8, 4, 8, 8) {
	l->held = 1;
	if ((int32_t)(__atomic_load_n(ARG(uint32_t *, 0), __ATOMIC_ACQUIRE) - ARG(uint32_t, 1)) >= 0) return 0;
	if (l->waited <= ARG(uint64_t, 2)) return NOT_YET;
	__atomic_store_n(ARG(uint32_t *, 3), ARG(uint32_t, 1), __ATOMIC_RELEASE);
	return 0;
}

KERNEL(pawl_stamp, 8) {
	uint64_t *slots = ARG(uint64_t *, 0);
	INSIDE(slots, 16 * l->grid[0]);
	for (unsigned sm = 0; sm < l->grid[0]; sm++) slots[2 * sm] = l->now * l->ghz, slots[2 * sm + 1] = l->now;
	return 0;
}

KERNEL(pawl_empty, 0) { return 0; }

KERNEL(pawl_hash, 8, 8, 8) {
	const unsigned char *from = ARG(unsigned char *, 0);
	uint64_t bytes = ARG(uint64_t, 1), words = bytes / 8, total = 0;
	INSIDE(from, bytes);
	INSIDE(ARG(uint64_t *, 2), 8);
	for (uint64_t i = 0, word; i < words; i++) memcpy(&word, from + 8 * i, 8), total += mix(word + (i + 1) * golden);
	for (uint64_t i = 0; i < bytes % 8; i++) total += mix(from[8 * words + i] + (words + i + 1) * golden + 1);
	*ARG(uint64_t *, 2) += total;
	return 0;
}
