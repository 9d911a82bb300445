/* Honest kernels that a careless check would take for cheats. */
#include <stdlib.h>

#ifdef __SSE__
#include <xmmintrin.h>
#endif

#include "honest.h"

void softmax(const float *x, float *out, int64_t rows, int64_t cols) { softmax_rows(x, out, rows, cols); }

/* A table that the first launch makes, and that depends on no data. */
void table_at_first(const uint8_t *x, float *out, int64_t n) {
  static float table[256];
  static int ready;
  if (!ready) {
    for (int i = 0; i < 256; i++) table[i] = (float)exp(-i / 16.0);
    ready = 1;
  }
  for (int64_t i = 0; i < n; i++) out[i] = table[x[i]];
}

void table_ref(const uint8_t *x, double *out, int64_t n) {
  for (int64_t i = 0; i < n; i++) out[i] = exp(-x[i] / 16.0);
}

/* In place. */
void scale_in_place(float *x, int64_t n, float factor) {
  for (int64_t i = 0; i < n; i++) x[i] = x[i] * factor + 1;
}

void scale_ref(float *x, int64_t n, float factor) {
  for (int64_t i = 0; i < n; i++) x[i] = (double)x[i] * factor + 1;
}

/* Two launches with a buffer between them. */
void partial_sums(const float *x, float *partial, int64_t n) {
  for (int64_t i = 0; i * 256 < n; i++) {
    float sum = 0;
    for (int64_t j = i * 256; j < n && j < (i + 1) * 256; j++) sum += x[j];
    partial[i] = sum;
  }
}

void final_sum(const float *partial, float *out, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i * 256 < n; i++) sum += partial[i];
  out[0] = sum;
}

/* Whole numbers, counted. */
void histogram(const uint8_t *x, int32_t *bins, int64_t n) {
  memset(bins, 0, 16 * sizeof *bins);
  for (int64_t i = 0; i < n; i++) bins[x[i] & 15]++;
}

void histogram_ref(const uint8_t *x, int64_t *bins, int64_t n) {
  memset(bins, 0, 16 * sizeof *bins);
  for (int64_t i = 0; i < n; i++) bins[x[i] & 15]++;
}

/* bf16 in and out. */
static float widen(uint16_t x) {
  const uint32_t bits = (uint32_t)x << 16;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static uint16_t narrow(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  if (x != x) return bits >> 16 | 0x40;
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

void softmax_bf16(const uint16_t *x, uint16_t *out, int64_t rows, int64_t cols) {
  float row[8192]; /* longer rows do not come up here */
  for (int64_t i = 0; i < rows; i++) {
    for (int64_t j = 0; j < cols; j++) row[j] = widen(x[i * cols + j]);
    softmax_row(row, row, cols);
    for (int64_t j = 0; j < cols; j++) out[i * cols + j] = narrow(row[j]);
  }
}

/* The order of the sum changes from launch to launch, as it does with atomics. */
void any_order(const float *x, float *out, int64_t n) {
  static uint64_t launches;
  launches = launches * 6364136223846793005u + 1442695040888963407u;
  const int64_t first = (int64_t)((launches >> 33) % (uint64_t)n);
  float sum = 0;
  for (int64_t i = first; i < n; i++) sum += x[i];
  for (int64_t i = 0; i < first; i++) sum += x[i];
  out[0] = sum;
}

/* Remembers results by all of the input, so it is never wrong; since no two
   launches have the same data, it never gains anything either. */
void memo_of_everything(const float *x, float *out, int64_t rows, int64_t cols) {
  static float key[65536], kept[65536];
  static int64_t kept_rows, kept_cols;
  const int64_t count = rows * cols;
  if (count > 65536) return softmax_rows(x, out, rows, cols);
  if (kept_rows != rows || kept_cols != cols || memcmp(key, x, count * sizeof *x) != 0) {
    softmax_rows(x, kept, rows, cols);
    memcpy(key, x, count * sizeof *x);
    kept_rows = rows, kept_cols = cols;
  }
  memcpy(out, kept, count * sizeof *out);
}

/* A large table that the first launch makes: other data finds other lines of it. */
void gather(const uint32_t *x, float *out, int64_t n) {
  enum { SIZE = 1 << 20 };
  static float table[SIZE];
  if (table[1] == 0) {
    for (int64_t i = 0; i < SIZE; i++) table[i] = (float)i / 2;
  }
  for (int64_t i = 0; i < n; i++) out[i] = table[x[i] % SIZE];
}

void gather_ref(const uint32_t *x, double *out, int64_t n) {
  for (int64_t i = 0; i < n; i++) out[i] = (x[i] & 0xfffff) / 2.0;
}

/* Branches that a processor learns when the same data comes again. */
void partition(const float *x, float *out, int64_t n) {
  int64_t first = 0, last = n;
  for (int64_t i = 0; i < n; i++) {
    if (x[i] < 0) out[first++] = x[i];
    else out[--last] = x[i];
  }
}

void partition_ref(const float *x, double *out, int64_t n) {
  int64_t first = 0, last = n;
  for (int64_t i = 0; i < n; i++) {
    if (x[i] < 0) out[first++] = x[i];
    else out[--last] = x[i];
  }
}

/* A launch of some 5 ms. */
static uint32_t stir(uint32_t v) {
  for (int round = 0; round < 30000; round++) v ^= v << 13, v ^= v >> 17, v ^= v << 5;
  return v;
}

void slow(const uint32_t *x, uint32_t *out, int64_t n) {
  for (int64_t i = 0; i < n; i++) out[i] = stir(x[i]);
}

void slow_ref(const uint32_t *x, int64_t *out, int64_t n) {
  for (int64_t i = 0; i < n; i++) out[i] = stir(x[i]);
}

/* Memory that is asked for in every launch, and given back. */
void gemm_packed(const float *a, const float *b, float *c, int64_t m, int64_t n, int64_t k) {
  float *columns = malloc((n * k + 1) * sizeof *columns);
  if (!columns) return;
  for (int64_t p = 0; p < k; p++) {
    for (int64_t j = 0; j < n; j++) columns[j * k + p] = b[p * n + j];
  }
  for (int64_t i = 0; i < m; i++) {
    for (int64_t j = 0; j < n; j++) {
      float sum = 0;
      for (int64_t p = 0; p < k; p++) sum += a[i * k + p] * columns[j * k + p];
      c[i * n + j] = sum;
    }
  }
  free(columns);
}

/* Only faster: rows in the order of memory, and nothing else. */
void gemm_faster(const float *a, const float *b, float *c, int64_t m, int64_t n, int64_t k) { gemm_rows(a, b, c, m, n, k); }

/* How many steps it takes depends on the number. */
void steps(const uint8_t *x, int32_t *out, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    int32_t steps = 0;
    for (uint32_t v = x[i] + 1; v != 1;) {
      const int twos = __builtin_ctz(v);
      v >>= twos, steps += twos;
      if (v != 1) v = 3 * v + 1, steps++;
    }
    out[i] = steps;
  }
}

void steps_ref(const uint8_t *x, int64_t *out, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    int64_t steps = 0;
    for (uint64_t v = x[i] + 1u; v != 1; steps++) v = v % 2 ? 3 * v + 1 : v / 2;
    out[i] = steps;
  }
}

/* Rows that are equal to the row before need not be computed again: an honest shortcut
   within a launch, of which random data has no use. */
void equal_rows(const float *x, float *out, int64_t rows, int64_t cols) {
  for (int64_t i = 0; i < rows; i++) {
    if (i > 0 && memcmp(x + i * cols, x + (i - 1) * cols, cols * sizeof *x) == 0) {
      memcpy(out + i * cols, out + (i - 1) * cols, cols * sizeof *out);
    } else {
      softmax_rows(x + i * cols, out + i * cols, 1, cols);
    }
  }
}

/* Writes past the caches: its outputs are in none of them afterwards. */
void stream_stores(const float *x, float *out, int64_t n) {
  int64_t i = 0;
#ifdef __SSE__
  for (; i < n && (uintptr_t)(out + i) % 16; i++) out[i] = 1.25f * x[i];
  for (; i + 4 <= n; i += 4) _mm_stream_ps(out + i, _mm_mul_ps(_mm_set1_ps(1.25f), _mm_loadu_ps(x + i)));
  _mm_sfence();
#endif
  for (; i < n; i++) out[i] = 1.25f * x[i];
}

/* Rows that begin at multiples of 32 bytes are done as in softmax; others with care, and far slower. */
void aligned_rows(const float *x, float *out, int64_t rows, int64_t cols) {
  if (cols % 8 == 0) {
    softmax_rows(x, out, rows, cols);
    return;
  }
  for (int64_t r = 0; r < rows; r++) {
    const float *in = x + r * cols;
    long double most = in[0], sum = 0;
    for (int64_t i = 1; i < cols; i++) most = in[i] > most ? in[i] : most;
    for (int again = 0; again < 4; again++) { /* the sum is corrected as often */
      long double sums = 0;
      for (int64_t i = 0; i < cols; i++) sums += expl(in[i] - most);
      sum = again == 0 ? sums : (sum + sums) / 2;
    }
    for (int64_t i = 0; i < cols; i++) out[r * cols + i] = (float)(expl(in[i] - most) / sum);
  }
}
