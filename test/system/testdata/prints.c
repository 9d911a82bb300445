#include <stdio.h>
void kernel(const float *in, float *out, int n) {
    static int launches;
    if (launches++ < 8) {
        printf("launch %d begins\n", launches);
        for (int i = 0; i < 1 << 16; i++) printf("sixteen bytes..\n");
        fprintf(stderr, "launch %d ends\n", launches);
    }
    for (int i = 0; i < n; i++) out[i] = in[i];
}
