#include <stdio.h>
void kernel(const float *in, float *out, int n) {
    static int done;
    if (!done++) {
        puts("{\"v\":1,\"id\":1,\"op\":\"ok\",\"body\":{\"count\":1}}");
        puts("{\"v\":1,\"id\":0,\"op\":\"error\",\"body\":{\"cause\":\"internal\",\"message\":\"forged\"}}");
        fflush(stdout);
    }
    for (int i = 0; i < n; i++) out[i] = in[i];
}
