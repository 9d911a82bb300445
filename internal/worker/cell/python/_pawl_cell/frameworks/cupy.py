"""CuPy."""

import random

from ..events import Events
from ..generator import CHUNK, WORDS
from .array import framework_module
from .numpy import NumPy

# CuPy would compile its own fill and sum in every cell, with its headers.
KERNELS = """
extern "C" __global__ void spin(long long n) {
    long long t = clock64();
    while (clock64() - t < n) {}
}

extern "C" __global__ void write(int *words, long long n, int value) {
    for (long long i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) words[i] = value;
}

extern "C" __global__ void read(const int *words, long long n, int *sink) {
    int sum = 0;
    for (long long i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += words[i];
    if (sum) *sink = sum;
}
"""
GRID, BLOCK = (1024,), (256,)  # of write and read


class CuPy(Events, NumPy):
    """CuPy arrays. They are filled and looked at by NumPy: CuPy would compile a
    kernel for every operation, in every cell."""

    name = "cupy"
    chunk, words = CHUNK, WORDS

    def __init__(self, load):
        self.np, self.host = framework_module("cupy"), framework_module("numpy")
        attributes = self.np.cuda.Device().attributes
        words = 2 * (attributes.get("L2CacheSize") or load.get("l2_bytes") or 64 << 20) // 4
        self.buffers = [self.np.zeros(words, self.np.int32) for _ in range(2)]
        self.sink = self.np.zeros(1, self.np.int32)
        self.count = 0
        kernels = self.np.RawModule(code=KERNELS)
        self.spin, self.writer, self.reader = (kernels.get_function(name) for name in ("spin", "write", "read"))
        self.start_events()

    def runtime(self):
        return f"CuPy {self.np.__version__}, CUDA {self.np.cuda.runtime.runtimeGetVersion() // 1000}"

    def address(self, array):
        return array.data.ptr

    def drawn(self, target):
        return self.host.empty(len(target), target.dtype)

    def move(self, raw):
        return self.np.asarray(raw)

    def look(self, array):
        return array.get()

    def prepare(self, seed, threads):
        random.seed(seed)
        self.np.random.seed(seed & 0xFFFFFFFF)
        self.np.get_default_memory_pool().free_all_blocks()

    def finish(self, seconds, repeat):
        seconds, doubts = super().finish(seconds, repeat)
        doubts["device_bytes"] = self.np.get_default_memory_pool().total_bytes()
        return seconds, doubts

    def synchronize(self):
        self.np.cuda.Device().synchronize()

    def event(self):
        return Recorded(self.np.cuda.Event())

    def elapsed(self, began, ended):
        return self.np.cuda.get_elapsed_time(began.event, ended.event) * 1e-3

    def sleep(self, seconds):
        self.spin((1,), (1,), (self.np.int64(seconds * 2e9),))

    def write(self):
        self.count += 1
        words = self.buffers[0]
        self.writer(GRID, BLOCK, (words, self.np.int64(words.size), self.np.int32(self.count)))

    def read(self):
        words = self.buffers[1]
        self.reader(GRID, BLOCK, (words, self.np.int64(words.size), self.sink))

    def hold(self, event):
        pass

    def join(self):
        return False

    def relied_on(self):
        return [("cupy.cuda", self.np.cuda, name) for name in ("get_elapsed_time", "Event", "Device")]


class Recorded:
    """A CuPy event with PyTorch's names."""

    def __init__(self, event):
        self.event = event
        self.record, self.synchronize = event.record, event.synchronize

    def query(self):
        return self.event.done
