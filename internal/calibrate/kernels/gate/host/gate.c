/* As much work as they are told to do: what they take longer for more of it is known. */
#include <stdint.h>

#define LANES 16

/* Lives in registers. */
void compute(const float *x, float *y, int64_t rounds) {
  float lane[LANES];
  for (int i = 0; i < LANES; i++) lane[i] = x[i];
  for (int64_t r = 0; r < rounds; r++)
    for (int i = 0; i < LANES; i++) lane[i] = lane[i] * 0.999f + x[i];
  for (int i = 0; i < LANES; i++) y[i] = lane[i];
}

/* Reads and writes 2 MB each. */
void memory(const float *x, float *y, int64_t count) {
  for (int64_t i = 0; i < count; i++) y[i] = x[i] * 0.999f;
}
