void kernel(const float *in, float *out, int n) {
    volatile float *volatile nowhere = 0;
    *nowhere = in[0] + out[0] + n;
}
