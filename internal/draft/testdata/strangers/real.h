#include <algorithm>
#include <stdlib.h>
#include <cuda_bf16.h>
#ifdef REAL_IS_FLOAT
typedef float real;
#else
typedef __nv_bfloat16 real;
#endif
inline int ceil_div(int dividend, int divisor) { return (dividend + divisor - 1) / divisor; }
