/* As much work as it is told to do: what it takes longer for more rounds is known. */
#include <stdint.h>

#define LANES 16

void gate(const float *x, float *y, int64_t rounds) {
  float lane[LANES];
  for (int i = 0; i < LANES; i++) lane[i] = x[i];
  for (int64_t r = 0; r < rounds; r++)
    for (int i = 0; i < LANES; i++) lane[i] = lane[i] * 0.999f + x[i];
  for (int i = 0; i < LANES; i++) y[i] = lane[i];
}
