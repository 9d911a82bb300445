/* About a millisecond a launch, so that there is time to interrupt it. */
void kernel(const float *in, float *out, int n) {
    for (int r = 0; r < 400; r++)
        for (int i = 0; i < n; i++) out[i] = in[i] * (float)r + out[i] * 0.5f;
}
