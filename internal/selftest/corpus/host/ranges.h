/* Needs _GNU_SOURCE. */
#ifndef RANGES_H
#define RANGES_H

#include <stdint.h>
#include <stdio.h>
#include <time.h>

typedef struct { uintptr_t begin, end; char rights[8]; } Range;

static int ranges(Range *out, int most) {
  FILE *maps = fopen("/proc/self/maps", "r");
  char line[512];
  int count = 0;
  while (maps && count < most && fgets(line, sizeof line, maps)) {
    unsigned long begin, end;
    if (sscanf(line, "%lx-%lx %7s", &begin, &end, out[count].rights) != 3) continue;
    out[count].begin = begin, out[count].end = end;
    count++;
  }
  if (maps) fclose(maps);
  return count;
}

/* Memory of the language that the program is written in, its heap and its stacks: far
   from the program, and far below libraries. */
static int heap(const Range *r) { return r->begin > 1l << 36 && r->begin < 0x7e0000000000 && r->rights[1] == 'w'; }

static int64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000L + t.tv_nsec;
}

#endif
