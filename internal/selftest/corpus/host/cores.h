/* Needs _GNU_SOURCE. */
#ifndef CORES_H
#define CORES_H

#include <sched.h>

/* A thread stays where its cell is kept, unless it asks for all cores. */
static void leave_core(void) {
  cpu_set_t all;
  const int here = sched_getcpu();
  CPU_ZERO(&all);
  for (int i = 0; i < 64; i++) {
    if (i != here) CPU_SET(i, &all);
  }
  sched_setaffinity(0, sizeof all, &all);
}

#endif
