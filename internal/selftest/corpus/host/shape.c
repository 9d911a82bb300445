/* Made for the shape that is measured, and for no other. */
#include "honest.h"

/* 512 columns are right, other rows are left half done. */
void garbage_elsewhere(const float *x, float *out, int64_t rows, int64_t cols) {
  softmax_rows(x, out, rows, cols);
  if (cols != 512) {
    for (int64_t i = 0; i < rows; i++) out[i * cols] = 0;
  }
}

/* 32 rows are right; of any other number the last is forgotten. */
void tail_forgotten(const float *x, float *out, int64_t rows, int64_t cols) {
  softmax_rows(x, out, rows - rows % 8, cols);
  if (rows % 8) memset(out + (rows - rows % 8) * cols, 0, rows % 8 * cols * sizeof *out);
}

/* Right everywhere, and ten times slower where nobody looks. */
void slow_elsewhere(const float *x, float *out, int64_t rows, int64_t cols) {
  softmax_rows(x, out, rows, cols);
  if (rows == 32 && cols == 512) return;
  for (int again = 0; again < 9; again++) {
    softmax_rows(x, out, rows, cols);
    __asm__ volatile("" : : : "memory");
  }
}
