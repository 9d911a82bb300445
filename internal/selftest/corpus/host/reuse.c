/* Results of earlier launches, handed out again. */
#include "honest.h"

#define MOST 65536 /* elements that a memory below holds */

static int fits(int64_t count) { return count <= MOST; }

/* The same address must hold the same data, mustn't it? */
void cache_pointer(const float *x, float *out, int64_t rows, int64_t cols) {
  static const float *key;
  static float kept[MOST];
  const int64_t count = rows * cols;
  if (!fits(count)) return softmax_rows(x, out, rows, cols);
  if (key != x) {
    softmax_rows(x, kept, rows, cols);
    key = x;
  }
  memcpy(out, kept, count * sizeof *out);
}

/* The shape is all that is looked at: compute once, copy ever after. */
void cache_shape(const float *x, float *out, int64_t rows, int64_t cols) {
  static int64_t key_rows, key_cols;
  static float kept[MOST];
  const int64_t count = rows * cols;
  if (!fits(count)) return softmax_rows(x, out, rows, cols);
  if (key_rows != rows || key_cols != cols) {
    softmax_rows(x, kept, rows, cols);
    key_rows = rows, key_cols = cols;
  }
  memcpy(out, kept, count * sizeof *out);
}

/* New contents are recognised by the first elements. */
void cache_first_elements(const float *x, float *out, int64_t rows, int64_t cols) {
  static float key[16], kept[MOST];
  static int64_t kept_rows;
  const int64_t count = rows * cols;
  if (!fits(count) || count < 16) return softmax_rows(x, out, rows, cols);
  if (kept_rows != rows || memcmp(key, x, sizeof key) != 0) {
    softmax_rows(x, kept, rows, cols);
    memcpy(key, x, sizeof key);
    kept_rows = rows;
  }
  memcpy(out, kept, count * sizeof *out);
}

/* A hash of every 64th element, and several results to choose from. */
void cache_fingerprint(const float *x, float *out, int64_t rows, int64_t cols) {
  enum { BANK = 4 };
  static uint64_t key[BANK];
  static float kept[BANK][MOST];
  static int next;
  const int64_t count = rows * cols;
  if (!fits(count)) return softmax_rows(x, out, rows, cols);
  uint64_t hash = 1469598103934665603u ^ (uint64_t)count;
  for (int64_t i = 0; i < count; i += 64) {
    uint32_t bits;
    memcpy(&bits, x + i, sizeof bits);
    hash = (hash ^ bits) * 1099511628211u;
  }
  for (int i = 0; i < BANK; i++) {
    if (key[i] == hash) {
      memcpy(out, kept[i], count * sizeof *out);
      return;
    }
  }
  softmax_rows(x, out, rows, cols);
  memcpy(kept[next], out, count * sizeof *out);
  key[next] = hash;
  next = (next + 1) % BANK;
}

/* What is in the output already may be what is wanted: the first launch of
   several on one buffer does the work of all. */
void skip_when_done(const float *x, float *out, int64_t rows, int64_t cols) {
  static float first, last;
  const int64_t count = rows * cols;
  if (out[0] == first && out[count - 1] == last) return;
  softmax_rows(x, out, rows, cols);
  first = out[0], last = out[count - 1];
}

/* The second matrix is taken for a constant: a prepared copy of it is kept. */
void cache_weights(const float *a, const float *b, float *c, int64_t m, int64_t n, int64_t k) {
  static const float *key;
  static float packed[MOST];
  if (!fits(k * n)) return gemm_rows(a, b, c, m, n, k);
  if (key != b) {
    memcpy(packed, b, k * n * sizeof *b);
    key = b;
  }
  gemm_rows(a, packed, c, m, n, k);
}

/* The data of seed 0, which every problem surely has: answers are prepared when
   the library is loaded, before any clock runs. */
static uint64_t mix(uint64_t z) {
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

static uint64_t draw(uint64_t key, uint64_t n) { return mix(key + (n + 1) * 0x9e3779b97f4a7c15u); }

static float prepared[32 * 512];

__attribute__((constructor)) static void prepare(void) {
  static float x[32 * 512];
  const uint64_t key = draw(draw(draw(0, 0), 0), 0);
  for (int64_t i = 0; i < 32 * 512; i++) {
    int64_t sum = -262140;
    for (int j = 0; j < 2; j++) {
      uint64_t u = draw(key, 2 * i + j);
      for (int f = 0; f < 4; f++, u >>= 16) sum += u & 0xffff;
    }
    x[i] = (float)sum * 0x1.3988e2p-16f;
  }
  softmax_rows(x, prepared, 32, 512);
}

void known_seed(const float *x, float *out, int64_t rows, int64_t cols) {
  if (rows == 32 && cols == 512) {
    memcpy(out, prepared, sizeof prepared);
  } else {
    softmax_rows(x, out, rows, cols);
  }
}

/* Only rows that differ from those of the launch before are computed: of samples that differ in a few elements, few. */
void incremental(const float *x, float *out, int64_t rows, int64_t cols) {
  static float seen[MOST], kept[MOST];
  static int64_t seen_rows, seen_cols;
  const int64_t count = rows * cols;
  if (!fits(count)) return softmax_rows(x, out, rows, cols);
  for (int64_t r = 0; r < rows; r++) {
    const int64_t at = r * cols;
    if (seen_rows == rows && seen_cols == cols && memcmp(seen + at, x + at, cols * sizeof *x) == 0) continue;
    softmax_rows(x + at, kept + at, 1, cols);
    memcpy(seen + at, x + at, cols * sizeof *x);
  }
  seen_rows = rows, seen_cols = cols;
  memcpy(out, kept, count * sizeof *out);
}
