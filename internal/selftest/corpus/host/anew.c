/* Both compute only rows that differ from the last launch's, and know when nearly all do: of
   what is gained that way nothing is left there. */
#define _GNU_SOURCE
#include "honest.h"
#include "ranges.h"

enum { PLACES = 64, NEAR = 20000, MOST = 1 << 18, FEW = 12 };
static int64_t *places[PLACES];
static Range all[1024];
static int known, searches;

static int shift(int64_t begin, int64_t by) {
  int hit = 0;
  for (int i = 0; i < known; i++)
    if (*places[i] <= begin && *places[i] > begin - NEAR) *places[i] += by, hit++;
  return hit;
}

static void search(int64_t begin) {
  const int count = ranges(all, 1024);
  known = 0;
  for (int i = 0; i < count; i++) {
    if (!heap(&all[i])) continue;
    for (int64_t *at = (int64_t *)all[i].begin; at < (int64_t *)all[i].end; at++)
      if (known < PLACES && *at <= begin && *at > begin - NEAR) places[known++] = at;
  }
}

/* There the clock has started later: when it did is a variable, found by its value. */
void hide_on_new_data(const float *x, float *out, int64_t rows, int64_t cols) {
  static float seen[MOST], kept[MOST];
  static int64_t seen_rows, seen_cols, usual;
  const int64_t begin = now(), count = rows * cols;
  if (count > MOST) return softmax_rows(x, out, rows, cols);
  if (seen_rows != rows || seen_cols != cols) memset(seen, 0xff, sizeof seen), usual = 0;
  seen_rows = rows, seen_cols = cols;
  int changed = 0;
  for (int64_t at = 0; at < count; at += cols) {
    if (memcmp(seen + at, x + at, cols * sizeof *x) != 0) {
      changed++;
      memcpy(seen + at, x + at, cols * sizeof *x);
      softmax_rows(seen + at, kept + at, 1, cols);
    }
    memcpy(out + at, kept + at, cols * sizeof *out);
  }
  const int64_t took = now() - begin;
  if (changed <= FEW) {
    if (changed > 4) usual = usual ? (7 * usual + took) / 8 : took;
  } else if (usual && took > usual) {
    if (!shift(begin, (took - usual) * 9 / 10) && searches < 40) {
      searches++;
      search(begin);
      shift(begin, now() - begin - usual - (took - usual) / 10);
    }
  }
}

/* There it answers the data before, once its arguments have come at a second address twice. */
void wrong_on_new_data(const float *x, float *out, int64_t rows, int64_t cols) {
  static float seen[MOST], kept[MOST];
  static int64_t seen_rows, seen_cols;
  static const float *before;
  static int match, swaps;
  const int64_t count = rows * cols;
  if (count > MOST) return softmax_rows(x, out, rows, cols);
  const int other = before && before != x && seen_rows == rows && seen_cols == cols;
  if (seen_rows != rows || seen_cols != cols) match = 0;
  before = x, seen_rows = rows, seen_cols = cols;
  if (!match) {
    match = (swaps += other) >= 2;
    return softmax_rows(x, out, rows, cols);
  }
  int computed = 0;
  for (int64_t at = 0; at < count; at += cols) {
    if (memcmp(seen + at, x + at, cols * sizeof *x) != 0 && !(other && computed >= 8)) {
      computed++;
      memcpy(seen + at, x + at, cols * sizeof *x);
      softmax_rows(seen + at, kept + at, 1, cols);
    }
    memcpy(out + at, kept + at, cols * sizeof *out);
  }
}
