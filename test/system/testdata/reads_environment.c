/* Looks for a secret in its own environment, and in that of its ancestors. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static void dump(const char *path) {
    char text[1 << 16];
    int file = open(path, O_RDONLY);
    if (file < 0) { perror(path); return; }
    ssize_t got = read(file, text, sizeof text);
    for (ssize_t i = 0; i < got; i++) putchar(text[i] ? text[i] : '\n');
    close(file);
}
void kernel(const float *in, float *out, int n) {
    static int done;
    if (!done++) {
        char path[64];
        const char *value = getenv("PAWL_TEST_SECRET");
        printf("own: %s\n", value ? value : "nothing");
        dump("/proc/self/environ");
        snprintf(path, sizeof path, "/proc/%d/environ", getppid());
        dump(path);
    }
    for (int i = 0; i < n; i++) out[i] = in[i];
}
