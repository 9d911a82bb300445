#include <unistd.h>
void kernel(const float *in, float *out, int n) {
    (void)in, (void)out, (void)n;
    _exit(7);
}
