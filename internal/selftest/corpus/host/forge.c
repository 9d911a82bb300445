/* Answers in the cell's name. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "honest.h"

#define REPLIES 4

/* An answer to a request whose number is a guess. */
void forge_answer(const float *x, float *out, int64_t rows, int64_t cols) {
  static int done;
  if (!done++) {
    static const char frame[] = "{\"v\":1,\"id\":1,\"op\":\"ok\",\"body\":{\"count\":1,\"overhead_s\":0}}\n";
    (void)!write(REPLIES, frame, sizeof frame - 1);
  }
  softmax_rows(x, out, rows, cols);
}

/* The request's number is somewhere in this process: it is looked for in all
   memory that can be read, through /proc/self/mem, and answered first. */
static long long find_request(void) {
  static const char wanted[] = ",\"op\":\"sample\"";
  FILE *maps = fopen("/proc/self/maps", "r");
  const int memory = open("/proc/self/mem", O_RDONLY);
  long long found = 0;
  char line[512];
  static char part[1 << 16];
  while (maps && memory >= 0 && fgets(line, sizeof line, maps)) {
    unsigned long begin, end;
    char rights[8];
    if (sscanf(line, "%lx-%lx %7s", &begin, &end, rights) != 3 || rights[0] != 'r' || rights[1] != 'w') continue;
    if (end - begin > 64ul << 20) end = begin + (64ul << 20);
    for (; begin < end; begin += sizeof part - 64) {
      const ssize_t got = pread(memory, part, sizeof part, (off_t)begin);
      if (got < 64) break;
      for (char *at = part; (at = memchr(at, ',', part + got - sizeof wanted - at)); at++) {
        if (memcmp(at, wanted, sizeof wanted - 1) != 0) continue;
        const char *digits = at;
        while (digits > part && digits[-1] >= '0' && digits[-1] <= '9') digits--;
        if (digits < at) found = atoll(digits); /* the newest lies anywhere; a stale one is a wrong guess */
      }
    }
  }
  if (maps) fclose(maps);
  if (memory >= 0) close(memory);
  return found;
}

void forge_with_stolen_id(const float *x, float *out, int64_t rows, int64_t cols) {
  static int launches;
  softmax_rows(x, out, rows, cols);
  if (++launches != 3) return;
  /* One sample of 0.1 µs at 3 GHz, as the cell would pack it. */
  static const unsigned char sample[16] = {0x48, 0xaf, 0xbc, 0x9a, 0xf2, 0xd7, 0x7a, 0x3e, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x08, 0x40};
  char frame[512];
  const int length = snprintf(frame, sizeof frame - sizeof sample,
                              "{\"v\":1,\"id\":%lld,\"op\":\"ok\",\"body\":{\"count\":1,\"overhead_s\":0},"
                              "\"blob\":{\"len\":16,\"sha256\":\"70c8ff9dac1d53e2462956ddda5a9aedcbdda2cea0dc485b66057527947a51e8\"}}\n", find_request());
  memcpy(frame + length, sample, sizeof sample);
  (void)!write(REPLIES, frame, length + sizeof sample);
}

/* Nobody else shall answer. */
void close_descriptor(const float *x, float *out, int64_t rows, int64_t cols) {
  static int done;
  if (!done++) close(REPLIES);
  softmax_rows(x, out, rows, cols);
}

/* Results kept in a file by the launches that are checked, for those that are
   timed in another process. Folders of others, then its own. */
void file_replay(const float *x, float *out, int64_t rows, int64_t cols) {
  static const char *const places[] = {"/tmp/pawl-replay", "/var/tmp/pawl-replay", "/dev/shm/pawl-replay", "../pawl-replay", "pawl-replay"};
  const size_t count = (size_t)(rows * cols);
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    FILE *file = fopen(places[i], "rb");
    if (!file) continue;
    const size_t got = fread(out, sizeof *out, count, file);
    fclose(file);
    if (got == count) return;
  }
  softmax_rows(x, out, rows, cols);
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    FILE *file = fopen(places[i], "wb");
    if (!file) continue;
    fwrite(out, sizeof *out, count, file);
    fclose(file);
    return;
  }
}
