/* SECRET is the path of a file that no kernel has business with. */
#include <stdio.h>
#include <unistd.h>
void kernel(const float *in, float *out, int n) {
    static int done;
    if (!done++) {
        char text[256] = "";
        FILE *file = fopen(SECRET, "r");
        if (!file) perror("refused");
        else if (fgets(text, sizeof text, file)) printf("read: %s\n", text);
        file = fopen("/proc/self/root" SECRET, "r");
        if (file && fgets(text, sizeof text, file)) printf("read by detour: %s\n", text);
        if (!symlink(SECRET, "link")) {
            file = fopen("link", "r");
            if (file && fgets(text, sizeof text, file)) printf("read by link: %s\n", text);
        }
    }
    for (int i = 0; i < n; i++) out[i] = in[i];
}
