// In double precision, and not changed with the others.
extern "C" __global__ void smooth_ref(const float *x, double *out, long n) {
  long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
  if (i >= n) return;
  double v = x[i];
  for (int j = 0; j < 64; j++) v = 0.98 * v + 0.02 * v * v / (1 + v * v);
  out[i] = v;
}
