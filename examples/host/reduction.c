/* Sum of N numbers in two launches: partial sums of chunks, then their sum.

   One running sum waits the whole latency of an addition for every element, and
   the compiler may not reorder floating-point additions to help. ACCUMULATORS
   independent sums give it vectors to work with. */
#include <stdint.h>

#ifndef ACCUMULATORS
#define ACCUMULATORS 1
#endif
#ifndef CHUNK
#define CHUNK 4096 /* elements of a partial sum; short ones lose fewer digits */
#endif

static float sum_chunk(const float *x, int64_t n) {
  float sum[ACCUMULATORS] = {0};
  int64_t i = 0;
  for (; i + ACCUMULATORS <= n; i += ACCUMULATORS) {
    for (int a = 0; a < ACCUMULATORS; a++) sum[a] += x[i + a];
  }
  float total = 0;
  for (int a = 0; a < ACCUMULATORS; a++) total += sum[a];
  for (; i < n; i++) total += x[i];
  return total;
}

/* partial has one element for each chunk, the last of which may be short. */
void sum_partial(const float *x, float *partial, int64_t n) {
  for (int64_t at = 0; at < n; at += CHUNK) {
    partial[at / CHUNK] = sum_chunk(x + at, n - at < CHUNK ? n - at : CHUNK);
  }
}

void sum_final(const float *partial, float *out, int64_t n) {
  const int64_t chunks = (n + CHUNK - 1) / CHUNK;
  double total = 0; /* few additions, so the wider type costs nothing */
  for (int64_t i = 0; i < chunks; i++) total += partial[i];
  *out = (float)total;
}
