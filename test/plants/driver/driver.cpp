// Runs the plants of a plan on a GPU: compares plants with their twins, times both in turns, or launches each once for
// Nsight Compute.
//
//   driver PLAN CUBINS verify OUT.csv
//   driver PLAN CUBINS time OUT.csv
//   driver PLAN CUBINS profile OUT.csv PART PARTS all|plants|twins [SIZE]
//
// profile launches one part of the plan, and OUT.csv names the launches in order; plants are all kernels that are no twins.
// SIZE is small or large; without it both are launched.
//
// plan.txt is written by the test of this folder from pawl.yaml. CUBINS has a cubin for every source, and helpers.cubin.
#include <cuda.h>
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

extern "C" {
CUresult cuProfilerStart();
CUresult cuProfilerStop();
}

// The driver's functions are found when this runs, so that it can be linked where there is no driver.
#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)
#define CALL(function, ...)                                                                                        \
  do {                                                                                                             \
    static const auto call = (decltype(&function))dlsym(library, TEXT(function));                                  \
    if (!call) fail("the driver has no %s", TEXT(function));                                                       \
    const CUresult result = call(__VA_ARGS__);                                                                     \
    if (result != CUDA_SUCCESS) fail("%s: %s, error %d", now.c_str(), TEXT(function), (int)result);                \
  } while (0)

static void *library;
static std::string now = "start"; // the kernel that is run

template <typename... A>
[[noreturn]] static void fail(const char *format, A... values) {
  fprintf(stderr, format, values...);
  fputc('\n', stderr);
  exit(1);
}

enum Type { F32, F16, I32, U32 };
enum Way { NORMAL, UNIFORM, INTEGERS, CONSTANT, IOTA };

static const std::map<std::string, Type> types = {{"f32", F32}, {"f16", F16}, {"i32", I32}, {"u32", U32}};
static const std::map<std::string, Way> ways = {
    {"normal", NORMAL}, {"uniform", UNIFORM}, {"integers", INTEGERS}, {"constant", CONSTANT}, {"zero", CONSTANT}, {"iota", IOTA}};

struct Arg {
  std::string name, role; // the role of a buffer; "": a scalar
  Type type;
  long long elements = 0;
  Way way = CONSTANT;
  double a = 0, b = 0;
  uint32_t scalar = 0; // its bits
  CUdeviceptr buffer = 0;

  size_t bytes() const { return elements * (type == F16 ? 2 : 4); }
  bool written() const { return role == "out" || role == "inout"; }
};

struct Launch {
  std::string entry;
  unsigned grid[3], block[3], shared;
  std::vector<int> args;
  CUfunction function = nullptr;
};

// A kernel at one size.
struct Row {
  std::string kernel, size, source;
  double atol = 0, rtol = 0;
  std::vector<Arg> args;
  std::vector<Launch> launches;

  std::string name() const { return kernel + "/" + size; }
};

static std::vector<Row> read_plan(const char *file) {
  std::ifstream in(file);
  if (!in) fail("cannot read %s", file);
  std::vector<Row> rows;
  std::string line;
  while (std::getline(in, line)) {
    std::istringstream words(line);
    std::string what;
    words >> what;
    if (what == "kernel") {
      Row row;
      double flops, bytes;
      words >> row.kernel >> row.size >> row.source >> flops >> bytes >> row.atol >> row.rtol;
      rows.push_back(row);
    } else if (what == "buffer") {
      Arg arg;
      std::string type, way;
      words >> arg.name >> type >> arg.elements >> arg.role >> way >> arg.a >> arg.b;
      arg.type = types.at(type);
      arg.way = ways.at(way);
      rows.back().args.push_back(arg);
    } else if (what == "scalar") {
      Arg arg;
      std::string type;
      double value;
      words >> arg.name >> type >> value;
      arg.type = types.at(type);
      if (arg.type == F32) {
        const float f = (float)value;
        memcpy(&arg.scalar, &f, 4);
      } else {
        arg.scalar = (uint32_t)(int64_t)value;
      }
      rows.back().args.push_back(arg);
    } else if (what == "launch") {
      Launch l;
      words >> l.entry;
      for (auto &g : l.grid) words >> g;
      for (auto &b : l.block) words >> b;
      words >> l.shared;
      for (int i; words >> i;) l.args.push_back(i);
      rows.back().launches.push_back(l);
    } else if (!what.empty() && what[0] != '#') {
      fail("%s: %s is not known", file, what.c_str());
    }
    if (what != "launch" && words.fail()) fail("%s: cannot read: %s", file, line.c_str());
  }
  return rows;
}

static CUmodule module_of(const std::string &file) {
  static std::map<std::string, CUmodule> loaded;
  CUmodule &module = loaded[file];
  if (!module) CALL(cuModuleLoad, &module, file.c_str());
  return module;
}

struct Gpu {
  std::string cubins;
  CUfunction fill, compare, flush_write, flush_read;
  CUdeviceptr flushed, counters;
  long long flush_words; // of 16 bytes
  CUevent begin, end;

  explicit Gpu(const std::string &folder) : cubins(folder) {
    CUdevice device;
    CUcontext context;
    int l2;
    CALL(cuInit, 0);
    CALL(cuDeviceGet, &device, 0);
    CALL(cuDevicePrimaryCtxRetain, &context, device);
    CALL(cuCtxSetCurrent, context);
    CALL(cuDeviceGetAttribute, &l2, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, device);
    const CUmodule helpers = module_of(cubins + "/helpers.cubin");
    CALL(cuModuleGetFunction, &fill, helpers, "fill");
    CALL(cuModuleGetFunction, &compare, helpers, "compare");
    CALL(cuModuleGetFunction, &flush_write, helpers, "flush_write");
    CALL(cuModuleGetFunction, &flush_read, helpers, "flush_read");
    flush_words = 2ll * l2 / 16;
    CALL(cuMemAlloc, &flushed, flush_words * 16);
    CALL(cuMemAlloc, &counters, 16);
    CALL(cuEventCreate, &begin, 0);
    CALL(cuEventCreate, &end, 0);
  }

  void launch(CUfunction f, std::vector<void *> args) {
    CALL(cuLaunchKernel, f, 1056, 1, 1, 256, 1, 1, 0, nullptr, args.data(), nullptr);
  }

  void synchronize() { CALL(cuCtxSynchronize); }

  void flush() {
    launch(flush_write, {&flushed, &flush_words});
    launch(flush_read, {&flushed, &flush_words, &counters});
  }

  // Puts a buffer into the state before a launch. Twins get the same numbers, since the seed is the argument's name.
  void prepare(const Arg &arg) {
    if (arg.role == "out" || arg.role == "scratch") {
      CALL(cuMemsetD8Async, arg.buffer, 0xff, arg.bytes(), nullptr); // no number
      return;
    }
    unsigned long long seed = 1469598103934665603ull;
    for (const char c : arg.name) seed = (seed ^ (unsigned char)c) * 1099511628211ull;
    long long n = arg.elements;
    int type = arg.type, way = arg.way;
    double a = arg.a, b = arg.b;
    CUdeviceptr to = arg.buffer;
    launch(fill, {&to, &n, &type, &way, &a, &b, &seed});
  }

  void open(Row &row) {
    now = row.name();
    for (auto &arg : row.args) {
      if (arg.role.empty()) continue;
      CALL(cuMemAlloc, &arg.buffer, arg.bytes());
      prepare(arg);
    }
    const CUmodule module = module_of(cubins + "/" + row.source + ".cubin");
    for (auto &l : row.launches) {
      CALL(cuModuleGetFunction, &l.function, module, l.entry.c_str());
      if (l.shared > 48 * 1024) CALL(cuFuncSetAttribute, l.function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, l.shared);
    }
    synchronize();
  }

  void close(Row &row) {
    for (auto &arg : row.args) {
      if (arg.buffer) CALL(cuMemFree, arg.buffer);
      arg.buffer = 0;
    }
  }

  // What a kernel changes is as it was before.
  void restore(const Row &row) {
    for (const auto &arg : row.args) {
      if (arg.role == "inout") prepare(arg);
    }
  }

  void start(Row &row, size_t launches) {
    now = row.name();
    for (size_t i = 0; i < std::min(launches, row.launches.size()); i++) {
      Launch &l = row.launches[i];
      std::vector<void *> args;
      for (const int a : l.args) args.push_back(row.args[a].role.empty() ? (void *)&row.args[a].scalar : (void *)&row.args[a].buffer);
      CALL(cuLaunchKernel, l.function, l.grid[0], l.grid[1], l.grid[2], l.block[0], l.block[1], l.block[2], l.shared, nullptr, args.data(), nullptr);
    }
  }

  void run(Row &row) { start(row, row.launches.size()); }

  struct Difference {
    unsigned long long wrong;
    float largest;
  };

  Difference difference(const Arg &a, const Arg *b, double atol, double rtol) {
    CALL(cuMemsetD8Async, counters, 0, 16, nullptr);
    CUdeviceptr first = a.buffer, second = b ? b->buffer : 0, largest = counters + 8;
    long long n = a.elements;
    int type = a.type;
    launch(compare, {&first, &second, &n, &type, &atol, &rtol, &counters, &largest});
    struct {
      unsigned long long wrong;
      float largest, unused;
    } got;
    CALL(cuMemcpyDtoH, &got, counters, 16);
    return {got.wrong, got.largest};
  }
};

static bool is_twin(const Row &row) {
  const size_t at = row.kernel.rfind("_fixed");
  return at != std::string::npos && at + 6 == row.kernel.size();
}

// The plan's rows in pairs: a plant with its twin, or a kernel without one.
static std::vector<std::pair<Row *, Row *>> pairs_of(std::vector<Row> &rows) {
  std::vector<std::pair<Row *, Row *>> pairs;
  std::map<std::string, Row *> by_name;
  for (auto &row : rows) by_name[row.name()] = &row;
  for (auto &row : rows) {
    if (is_twin(row)) continue;
    const auto twin = by_name.find(row.kernel + "_fixed/" + row.size);
    pairs.push_back({&row, twin == by_name.end() ? nullptr : twin->second});
  }
  return pairs;
}

static int verify(Gpu &gpu, std::vector<Row> &rows, FILE *out) {
  int bad = 0;
  fprintf(out, "kernel,size,output,elements,wrong,largest_difference\n");
  for (auto [row, twin] : pairs_of(rows)) {
    for (Row *r : {row, twin}) {
      if (!r) continue;
      gpu.open(*r);
      gpu.run(*r);
      gpu.synchronize();
    }
    for (auto &arg : row->args) {
      if (!arg.written()) continue;
      const Arg *other = nullptr;
      if (twin) {
        for (auto &a : twin->args) {
          if (a.name == arg.name && a.type == arg.type && a.elements == arg.elements) other = &a;
        }
        if (!other) fail("%s: the twin has no such output %s", row->name().c_str(), arg.name.c_str());
      }
      const auto d = gpu.difference(arg, other, row->atol, row->rtol);
      fprintf(out, "%s,%s,%s,%lld,%llu,%g\n", row->kernel.c_str(), row->size.c_str(), arg.name.c_str(), arg.elements, d.wrong, d.largest);
      if (d.wrong) {
        bad++;
        printf("WRONG %s: %llu of %lld elements of %s, by up to %g\n", row->name().c_str(), d.wrong, arg.elements, arg.name.c_str(), d.largest);
      }
    }
    gpu.close(*row);
    if (twin) gpu.close(*twin);
  }
  return bad;
}

static double quantile(std::vector<double> v, double q) {
  std::sort(v.begin(), v.end());
  return v[(size_t)std::lround(q * (v.size() - 1))];
}

static void time_all(Gpu &gpu, std::vector<Row> &rows, FILE *out) {
  constexpr int SAMPLES = 15;
  fprintf(out, "kernel,size,launches,samples,median_us,p25_us,p75_us,wall_us\n");
  for (int i = 0; i < 3000; i++) gpu.flush(); // until the clock is up
  gpu.synchronize();
  for (auto [row, twin] : pairs_of(rows)) {
    std::vector<double> times[2], walls[2];
    Row *both[2] = {row, twin};
    for (Row *r : both) {
      if (r) gpu.open(*r), gpu.run(*r), gpu.synchronize();
    }
    for (int i = 0; i < SAMPLES; i++) {
      for (int side = 0; side < 2; side++) {
        Row *r = both[side];
        if (!r) continue;
        // The flush takes longer than it takes to queue what follows, so launches do not wait for the host.
        float ms;
        gpu.restore(*r);
        gpu.flush();
        CALL(cuEventRecord, gpu.begin, nullptr);
        gpu.run(*r);
        CALL(cuEventRecord, gpu.end, nullptr);
        CALL(cuEventSynchronize, gpu.end);
        CALL(cuEventElapsedTime, &ms, gpu.begin, gpu.end);
        times[side].push_back(ms * 1000);
      }
    }
    for (int i = 0; i < 7; i++) { // from the host's side, caches as they are
      for (int side = 0; side < 2; side++) {
        if (!both[side]) continue;
        gpu.restore(*both[side]);
        gpu.synchronize();
        const auto begin = std::chrono::steady_clock::now();
        gpu.run(*both[side]);
        gpu.synchronize();
        walls[side].push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count());
      }
    }
    for (int side = 0; side < 2; side++) {
      if (!both[side]) continue;
      fprintf(out, "%s,%s,%zu,%d,%.3f,%.3f,%.3f,%.3f\n", both[side]->kernel.c_str(), both[side]->size.c_str(),
              both[side]->launches.size(), SAMPLES, quantile(times[side], 0.5), quantile(times[side], 0.25),
              quantile(times[side], 0.75), quantile(walls[side], 0.5));
      gpu.close(*both[side]);
    }
    fflush(out);
  }
}

// Launches each kernel once between the profiler's marks: of several launches the first.
static void profile(Gpu &gpu, std::vector<Row> &rows, FILE *out, size_t part, size_t parts) {
  fprintf(out, "id,kernel,size,entry\n");
  int id = 0;
  for (size_t i = rows.size() * part / parts; i < rows.size() * (part + 1) / parts; i++) {
    Row &row = rows[i];
    gpu.open(row);
    gpu.run(row); // loads its code
    for (const auto &arg : row.args) {
      if (!arg.role.empty()) gpu.prepare(arg);
    }
    gpu.synchronize();
    CALL(cuProfilerStart);
    gpu.start(row, 1);
    gpu.synchronize();
    CALL(cuProfilerStop);
    fprintf(out, "%d,%s,%s,%s\n", id++, row.kernel.c_str(), row.size.c_str(), row.launches[0].entry.c_str());
    fflush(out);
    gpu.close(row);
  }
}

int main(int argc, char **argv) {
  if (argc < 5) fail("usage: driver PLAN CUBINS verify|time|profile OUT.csv [PART PARTS all|plants|twins [SIZE]]");
  library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!library) fail("no driver: %s", dlerror());
  std::vector<Row> rows = read_plan(argv[1]);
  Gpu gpu(argv[2]);
  FILE *out = fopen(argv[4], "w");
  if (!out) fail("cannot write %s", argv[4]);
  const std::string what = argv[3];
  int bad = 0;
  if (what == "verify") {
    bad = verify(gpu, rows, out);
  } else if (what == "time") {
    time_all(gpu, rows, out);
  } else if (what == "profile" && argc >= 8) {
    const std::string which = argv[7], size = argc > 8 ? argv[8] : "";
    rows.erase(std::remove_if(rows.begin(), rows.end(), [&](const Row &r) { return !size.empty() && r.size != size; }), rows.end());
    if (which != "all") rows.erase(std::remove_if(rows.begin(), rows.end(), [&](const Row &r) { return is_twin(r) != (which == "twins"); }), rows.end());
    profile(gpu, rows, out, atoi(argv[5]), atoi(argv[6]));
  } else {
    fail("%s is not something to do", what.c_str());
  }
  fclose(out);
  return bad > 0;
}
