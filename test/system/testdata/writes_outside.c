/* OUTSIDE is a folder that is not the cell's own. */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
void kernel(const float *in, float *out, int n) {
    static int done;
    if (!done++) {
        FILE *file = fopen(OUTSIDE "/new", "w");
        if (file) { fputs("escaped", file); fclose(file); }
        file = fopen(OUTSIDE "/old", "a");
        if (file) { fputs("escaped", file); fclose(file); }
        unlink(OUTSIDE "/old");
        rename(OUTSIDE "/old", OUTSIDE "/moved");
        mkdir(OUTSIDE "/folder", 0777);
        chmod(OUTSIDE "/old", 0777);
        truncate(OUTSIDE "/old", 0);
        file = fopen("own", "w");
        printf(file ? "own scratch: yes\n" : "own scratch: no\n");
    }
    for (int i = 0; i < n; i++) out[i] = in[i];
}
