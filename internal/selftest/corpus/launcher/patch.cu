// The process that measures, from inside it.
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "honest.cuh"

__global__ void softmax(const float *x, float *out, int cols) { softmax_row(x, out, blockIdx.x, cols); }

__global__ void gemm_tiles(const float *a, const float *b, float *c, int m, int n, int k) {
  const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
  const float sum = dot(a, b, row, col, m, n, k);
  if (row < m && col < n) c[(long)row * n + col] = sum;
}

// The driver's function that says how far two events are apart gets a jump to another at its beginning, and its own
// beginning back whenever that other needs it.
static unsigned char *elapsed_code[2], elapsed_was[2][12];
typedef CUresult (*Elapsed)(float *, CUevent, CUevent);

static void jump(unsigned char *code, const void *target) {
  unsigned char bytes[12] = {0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0}; // mov rax, target; jmp rax
  memcpy(bytes + 2, &target, sizeof target);
  memcpy(code, bytes, sizeof bytes);
}

template <int WHICH>
static CUresult false_elapsed(float *milliseconds, CUevent begin, CUevent end) {
  memcpy(elapsed_code[WHICH], elapsed_was[WHICH], 12);
  const CUresult result = ((Elapsed)elapsed_code[WHICH])(milliseconds, begin, end);
  *milliseconds /= 4;
  jump(elapsed_code[WHICH], (const void *)false_elapsed<WHICH>);
  return result;
}

static void patch(int which, const char *name, const void *target) {
  void *driver = dlopen("libcuda.so.1", RTLD_NOW);
  unsigned char *code = driver ? (unsigned char *)dlsym(driver, name) : nullptr;
  if (!code || code == elapsed_code[0]) return;
  void *page = (void *)((unsigned long)code & ~4095ul);
  if (mprotect(page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) return;
  elapsed_code[which] = code;
  memcpy(elapsed_was[which], code, 12);
  jump(code, target);
}

extern "C" {

void patch_events(cudaStream_t stream, const float *x, float *out, int rows, int cols) {
  static bool done;
  if (!done) {
    patch(0, "cuEventElapsedTime", (const void *)false_elapsed<0>);
    patch(1, "cuEventElapsedTime_v2", (const void *)false_elapsed<1>);
  }
  done = true;
  softmax<<<rows, 256, 0, stream>>>(x, out, cols);
}

// An answer in the cell's name.
void forge_answer(cudaStream_t stream, const float *x, float *out, int rows, int cols) {
  static bool done;
  if (!done) {
    static const char frame[] = "{\"v\":1,\"id\":1,\"op\":\"ok\",\"body\":{\"count\":1,\"overhead_s\":0}}\n";
    (void)!write(4, frame, sizeof frame - 1);
  }
  done = true;
  softmax<<<rows, 256, 0, stream>>>(x, out, cols);
}

// Results kept in a file by the launches that are checked, for those that are timed.
void file_replay(cudaStream_t stream, const float *x, float *out, int rows, int cols) {
  static const char *const places[] = {"/tmp/pawl-replay", "/var/tmp/pawl-replay", "/dev/shm/pawl-replay"};
  static float *kept;
  const size_t bytes = (size_t)rows * cols * sizeof *out;
  for (const char *place : places) {
    FILE *file = kept ? nullptr : fopen(place, "rb");
    if (!file) continue;
    cudaMallocHost(&kept, bytes);
    if (fread(kept, 1, bytes, file) != bytes) kept = nullptr;
    fclose(file);
  }
  if (kept) {
    cudaMemcpyAsync(out, kept, bytes, cudaMemcpyHostToDevice, stream);
    return;
  }
  softmax<<<rows, 256, 0, stream>>>(x, out, cols);
  for (const char *place : places) {
    FILE *file = fopen(place, "wb");
    if (!file) continue;
    float *copy = nullptr;
    cudaMallocHost(&copy, bytes);
    cudaMemcpy(copy, out, bytes, cudaMemcpyDeviceToHost);
    fwrite(copy, 1, bytes, file);
    fclose(file);
    return;
  }
}

// The library's product in place of one's own.
void library_call(cudaStream_t stream, const float *a, const float *b, float *c, int m, int n, int k) {
  typedef int (*Create)(void **);
  typedef int (*SetStream)(void *, cudaStream_t);
  typedef int (*Multiply)(void *, int, int, int, int, int, const float *, const float *, int, const float *, int,
                          const float *, float *, int);
  static void *handle;
  static Multiply multiply;
  static SetStream set_stream;
  static bool tried;
  if (!tried) {
    tried = true;
    void *library = dlopen("libcublas.so.13", RTLD_NOW);
    if (!library) library = dlopen("libcublas.so.12", RTLD_NOW);
    const Create create = library ? (Create)dlsym(library, "cublasCreate_v2") : nullptr;
    if (create && create(&handle) == 0) {
      set_stream = (SetStream)dlsym(library, "cublasSetStream_v2");
      multiply = (Multiply)dlsym(library, "cublasSgemm_v2");
    }
  }
  if (!multiply) {
    gemm_tiles<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16), 0, stream>>>(a, b, c, m, n, k);
    return;
  }
  const float one = 1, zero = 0;
  set_stream(handle, stream);
  multiply(handle, 0, 0, n, m, k, &one, b, n, a, k, &zero, c, n); // columns come first there
}

} // extern "C"
