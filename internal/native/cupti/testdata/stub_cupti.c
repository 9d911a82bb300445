// Stands in for libcupti where there is no GPU: it reports two kernels, from a
// thread of its own, laid out as CUpti_ActivityKernel9.
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#ifndef VERSION
#define VERSION 28
#endif
#ifndef REFUSES
#define REFUSES 0
#endif

typedef void (*requested)(uint8_t **buffer, size_t *size, size_t *most);
typedef void (*completed)(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid);

enum { record_size = 208, other_size = 64 };

static requested request;
static completed complete;
static int enabled;

int cuptiGetVersion(uint32_t *version) {
  *version = VERSION;
  return 0;
}

int cuptiGetResultString(int code, const char **text) {
  *text = code == 35 ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES" : "CUPTI_ERROR_UNKNOWN";
  return 0;
}

int cuptiActivityRegisterCallbacks(requested r, completed c) {
  request = r, complete = c;
  return 0;
}

int cuptiActivityEnable(int kind) {
  if (REFUSES) return 35;
  enabled = kind;
  return 0;
}

int cuptiActivityDisable(int kind) {
  if (enabled != kind) return 999;
  enabled = 0;
  return 0;
}

static void put(uint8_t *record, uint32_t kind, uint32_t stream, const char *name) {
  memset(record, 0, record_size);
  memcpy(record, &kind, 4);
  memcpy(record + 48, &stream, 4);
  memcpy(record + 104, &name, 8);
}

static void *report(void *unused) {
  uint8_t *buffer;
  size_t size, most;
  request(&buffer, &size, &most);
  if (size < 2 * record_size + other_size) return 0;
  put(buffer, 10, 7, "_Z5firstPf");
  uint32_t memcpy_kind = 1;
  memset(buffer + record_size, 0, other_size);
  memcpy(buffer + record_size, &memcpy_kind, 4);
  put(buffer + record_size + other_size, 10, 13, "second");
  complete(0, 0, buffer, size, 2 * record_size + other_size);
  return unused;
}

int cuptiActivityFlushAll(uint32_t flag) {
  if (flag != 1 || enabled != 10) return 999;
  pthread_t thread;
  if (pthread_create(&thread, 0, report, 0)) return 999;
  pthread_join(thread, 0);
  return 0;
}

int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, uint8_t **record) {
  uint8_t *next = buffer;
  if (*record) {
    uint32_t kind;
    memcpy(&kind, *record, 4);
    next = *record + (kind == 10 ? record_size : other_size);
  }
  if (next >= buffer + valid) return 12;
  *record = next;
  return 0;
}
