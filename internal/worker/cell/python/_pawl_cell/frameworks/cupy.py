"""CuPy."""

import random

from ..events import Events
from ..generator import CHUNK, WORDS
from .array import framework_module
from .numpy import NumPy


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
        self.sink = self.np.zeros((), self.np.int64)
        self.count = 0
        self.spin = self.np.RawKernel(
            'extern "C" __global__ void spin(long long n) { long long t = clock64(); while (clock64() - t < n) {} }', "spin")
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
        self.buffers[0].fill(self.count)

    def read(self):
        self.buffers[1].sum(out=self.sink)

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
