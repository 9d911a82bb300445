// What the driver runs beside the plants: it fills buffers, compares them and flushes the L2.

// Element types and ways to fill, as the plan spells them: see driver.cpp.
enum { F32, F16, I32, U32 };
enum { NORMAL, UNIFORM, INTEGERS, CONSTANT, IOTA };

__device__ inline unsigned long long scramble(unsigned long long v) {
  v = (v ^ v >> 30) * 0xbf58476d1ce4e5b9ull;
  v = (v ^ v >> 27) * 0x94d049bb133111ebull;
  return v ^ v >> 31;
}

__device__ inline float to_float(unsigned short h) {
  float f;
  asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
  return f;
}

extern "C" __global__ void fill(void *to, long long n, int type, int way, double a, double b, unsigned long long seed) {
  for (long long i = blockIdx.x * 256ll + threadIdx.x; i < n; i += gridDim.x * 256ll) {
    const unsigned long long bits = scramble(seed + i * 0x9e3779b97f4a7c15ull);
    const float u = ((unsigned)(bits >> 40) + 0.5f) * (1 / 16777216.f), v = ((unsigned)bits & 0xffffff) * (1 / 16777216.f);
    double value = a;
    if (way == NORMAL) value = a + b * sqrtf(-2 * logf(u)) * cospif(2 * v);
    if (way == UNIFORM) value = a + (b - a) * u;
    if (way == INTEGERS) value = a + (double)(bits % (unsigned long long)(b - a + 1));
    if (way == IOTA) value = (double)i;
    if (type == F32) ((float *)to)[i] = (float)value;
    if (type == I32) ((int *)to)[i] = (int)value;
    if (type == U32) ((unsigned *)to)[i] = (unsigned)value;
    if (type == F16) {
      unsigned short h;
      asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"((float)value));
      ((unsigned short *)to)[i] = h;
    }
  }
}

__device__ inline double element(const void *p, long long i, int type) {
  if (type == F32) return ((const float *)p)[i];
  if (type == F16) return to_float(((const unsigned short *)p)[i]);
  if (type == I32) return ((const int *)p)[i];
  return ((const unsigned *)p)[i];
}

// Counts the elements that differ by more than atol + rtol |b| and finds the largest difference. With b null it counts
// those that are no number: a buffer that was not written.
extern "C" __global__ void compare(const void *a, const void *b, long long n, int type, double atol, double rtol,
                                   unsigned long long *wrong, unsigned *largest) {
  unsigned long long count = 0;
  float most = 0;
  for (long long i = blockIdx.x * 256ll + threadIdx.x; i < n; i += gridDim.x * 256ll) {
    const double x = element(a, i, type), y = b ? element(b, i, type) : x, d = fabs(x - y);
    if (!(d <= atol + rtol * fabs(y))) count++;
    most = fmaxf(most, (float)d);
  }
  if (count) atomicAdd(wrong, count);
  atomicMax(largest, __float_as_uint(most)); // differences are not negative, so their bits are in order
}

// Writes n words and reads them again by other blocks, so that the L2 has clean lines of no use to anybody.
extern "C" __global__ void flush_write(uint4 *to, long long n) {
  for (long long i = blockIdx.x * 256ll + threadIdx.x; i < n; i += gridDim.x * 256ll) to[i] = make_uint4(i, i, i, i);
}

extern "C" __global__ void flush_read(const uint4 *from, long long n, unsigned *out) {
  unsigned sum = 0;
  for (long long i = blockIdx.x * 256ll + threadIdx.x; i < n; i += gridDim.x * 256ll) sum += from[i].x;
  if (sum == 0xffffffff) *out = sum;
}
