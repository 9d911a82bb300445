#include <stdlib.h>
#include <string.h>
void kernel(const float *in, float *out, int n) {
    (void)in, (void)n;
    for (;;) {
        char *more = malloc(16 << 20);
        if (!more) { out[0] = 1; continue; }
        memset(more, 1, 16 << 20);
    }
}
