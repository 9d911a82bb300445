void kernel(const float *in, float *out, int n) {
    for (int i = -2; i < n; i++) out[i] = in[0];
}
