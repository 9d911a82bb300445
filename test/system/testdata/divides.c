void kernel(const float *in, float *out, int n) {
    volatile int zero = 0;
    out[0] = in[0] + n / zero;
}
