void kernel(const float *in, float *out, int n) {
    for (volatile int forever = 1; forever;) out[0] = in[0] + n;
}
