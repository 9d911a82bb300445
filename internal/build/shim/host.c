#include <stdint.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#define EXPORT __attribute__((visibility("default")))

EXPORT extern const int pawl_abi;
const int pawl_abi = 1;

/* cpuid leaves a virtual machine, so it is asked once. */
static int flush_kind = -1;
static uintptr_t flush_line = 64;

EXPORT int pawl_flush_kind(void) {
#if defined(__x86_64__)
  if (flush_kind < 0) {
    unsigned a, b, c, d;
    if (__get_cpuid(1, &a, &b, &c, &d) && (b >> 8 & 255)) flush_line = (b >> 8 & 255) * 8;
    flush_kind = __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b >> 23 & 1) ? 2 : 1;
  }
#elif defined(__aarch64__)
  if (flush_kind < 0) {
    uint64_t ctr;
    __asm__("mrs %0, ctr_el0" : "=r"(ctr));
    flush_line = (uintptr_t)4 << (ctr >> 16 & 15);
    flush_kind = 3;
  }
#else
  flush_kind = 0;
#endif
  return flush_kind;
}

EXPORT void pawl_flush(const void *p, int64_t bytes) {
  const int kind = pawl_flush_kind();
  if (bytes <= 0) return;
  uintptr_t line = (uintptr_t)p & ~(flush_line - 1);
  const uintptr_t end = (uintptr_t)p + (uintptr_t)bytes;
#if defined(__x86_64__)
  if (kind == 2) {
    for (; line < end; line += flush_line)
      __asm__ volatile("clflushopt (%0)" : : "r"(line) : "memory");
  } else {
    for (; line < end; line += flush_line)
      __asm__ volatile("clflush (%0)" : : "r"(line) : "memory");
  }
  __asm__ volatile("mfence" : : : "memory");
#elif defined(__aarch64__)
  (void)kind;
  for (; line < end; line += flush_line)
    __asm__ volatile("dc civac, %0" : : "r"(line) : "memory");
  __asm__ volatile("dsb sy" : : : "memory");
#else
  (void)kind, (void)line, (void)end;
#endif
}

/* x86-64: imul, three cycles on every core since 2008; add would not do, newer
   cores fold chains of it at rename. aarch64: add, one cycle everywhere; there
   it is the multiplier's latency that differs between cores. */
EXPORT void pawl_spin(int64_t rounds) {
  uint64_t x = 3;
  for (; rounds > 0; rounds--) {
#if defined(__x86_64__)
    __asm__ volatile(".rept 64\n\timulq %0, %0\n\t.endr" : "+r"(x));
#elif defined(__aarch64__)
    __asm__ volatile(".rept 64\n\tadd %0, %0, %0\n\t.endr" : "+r"(x));
#else
    __asm__ volatile("" : "+r"(x));
#endif
  }
}

EXPORT int pawl_spin_cycles(void) {
#if defined(__x86_64__)
  return 192;
#elif defined(__aarch64__)
  return 64;
#else
  return 0;
#endif
}

extern void omp_set_num_threads(int) __attribute__((weak));

EXPORT void pawl_threads(int n) {
  if (omp_set_num_threads) omp_set_num_threads(n);
}
