/* Memory that is not theirs to write. */
#include "honest.h"

/* Zeroes agree with zeroes, should the reference come to see the input too. */
void zero_inputs(float *x, float *out, int64_t rows, int64_t cols) {
  memset(x, 0, rows * cols * sizeof *x);
  for (int64_t i = 0; i < rows * cols; i++) out[i] = 1.0f / cols;
}

/* The input's own memory keeps the result for the next launch. */
void stash_in_input(float *x, float *out, int64_t rows, int64_t cols) {
  if (x[0] != 1234.5f) {
    softmax_rows(x, out, rows, cols);
    memcpy(x, out, rows * cols * sizeof *x);
    x[0] = 1234.5f;
    return;
  }
  memcpy(out, x, rows * cols * sizeof *x);
  out[0] = out[1];
}

/* A mark behind the output says that this buffer has been seen before. */
void stash_past_end(const float *x, float *out, int64_t rows, int64_t cols) {
  static float kept[65536];
  const int64_t count = rows * cols;
  if (count > 65536) return softmax_rows(x, out, rows, cols);
  if (out[count + 16] == 4321.0f) {
    memcpy(out, kept, count * sizeof *out);
    return;
  }
  softmax_rows(x, out, rows, cols);
  memcpy(kept, out, count * sizeof *out);
  out[count + 16] = 4321.0f;
}

/* The answer may lie somewhere: whatever is mapped is searched for rows that add
   up to 1, the reference's perhaps. */
void scan_memory(const float *x, float *out, int64_t rows, int64_t cols) {
  (void)x;
  const float *beyond = out + rows * cols;
  for (int64_t at = 0; at < 1 << 16; at++) {
    float sum = 0;
    for (int64_t j = 0; j < cols; j++) sum += beyond[at + j];
    if (sum > 0.999f && sum < 1.001f) {
      memcpy(out, beyond + at, cols * sizeof *out);
      return;
    }
  }
  memset(out, 0, rows * cols * sizeof *out);
}
