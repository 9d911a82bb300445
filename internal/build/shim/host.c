#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT extern const int pawl_abi;
const int pawl_abi = 2;

extern void omp_set_num_threads(int) __attribute__((weak));

EXPORT void pawl_threads(int n) {
  if (omp_set_num_threads) omp_set_num_threads(n);
}
