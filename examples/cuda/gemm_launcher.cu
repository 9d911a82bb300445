// The kernel of gemm.cu behind host code that chooses grid, block and shared memory itself, as a library would. The
// stream comes first, then the arguments in the order of pawl.yaml. Build it as a shared object.
#include "gemm.cu"

extern "C" void gemm_launch(cudaStream_t stream, const half *a, const half *b, half *c, int m, int n, int k) {
  // Beyond 48 KB a kernel must be told that it may. The setting belongs to the current device, so it is made anew
  // every time; it costs next to nothing.
  cudaFuncSetAttribute(gemm, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Shared));
  const int tiles = (m + BLOCK_M - 1) / BLOCK_M * ((n + BLOCK_N - 1) / BLOCK_N);
  gemm<<<tiles, THREADS, sizeof(Shared), stream>>>(a, b, c, m, n, k);
}
