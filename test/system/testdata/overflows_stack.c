static int deeper(volatile char *up, int n) {
    volatile char here[4096];
    here[0] = up[0];
    return deeper(here, n + 1) + here[0];
}
void kernel(const float *in, float *out, int n) {
    volatile char first = (char)in[0];
    out[0] = deeper(&first, n);
}
