void kernel(const float *in, float *out, int n) {
    for (int i = 0; i < n + (1 << 20); i++) out[i] = in[0];
}
