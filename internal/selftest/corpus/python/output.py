"""Outputs that are no plain arrays, not there yet, or somebody else's work."""

import mmap
import os
import threading

import numpy as np

from honest import softmax


class Lazy(np.ndarray):
    """Computes itself when somebody looks: at its bytes, its elements, or through
    any function of NumPy."""

    def __new__(cls, x):
        self = np.empty_like(x).view(cls)
        self.source = x
        return self

    def __array_finalize__(self, other):
        self.source = getattr(other, "source", None)

    def settle(self):
        if self.source is not None:
            self.source, x = None, self.source
            np.copyto(self.view(np.ndarray), softmax(np.asarray(x)))
        return self.view(np.ndarray)

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        plain = [i.settle() if isinstance(i, Lazy) else i for i in inputs]
        return getattr(ufunc, method)(*plain, **options)

    def __array_function__(self, function, types, args, options):
        return function(*[a.settle() if isinstance(a, Lazy) else a for a in args], **options)

    def __getitem__(self, key):
        return self.settle()[key]

    def tobytes(self, *order):
        return self.settle().tobytes(*order)


def lazy_output(x):
    return Lazy(x)


class Settled(np.ndarray):
    """Its type and shape are right, and it is a view of the input."""


def returns_view(x):
    return x.view(Settled)


jobs, wake = [], threading.Event()


def work():
    while True:
        wake.wait()
        wake.clear()
        while jobs:
            x, out = jobs.pop()
            out[...] = softmax(x)


def background_thread(x, out):
    """Somebody else does it, later."""
    if not any(t.name == "helper" for t in threading.enumerate()):
        threading.Thread(target=work, name="helper", daemon=True).start()
    jobs.append((x, out))
    wake.set()


class Helper:
    """A process that computes on another core what it finds in shared memory."""

    def __init__(self, rows, cols):
        shared = np.frombuffer(mmap.mmap(-1, 64 + 8 * rows * cols), np.uint8)
        self.asked, self.done = shared[:64].view(np.int64)[:2].reshape(2, 1)
        self.x, self.out = shared[64:].view(np.float32).reshape(2, rows, cols)
        if os.fork() == 0:
            self.serve(os.getppid())

    def serve(self, parent):
        try:
            os.sched_setaffinity(0, set(range(os.cpu_count())) - os.sched_getaffinity(parent))
        except OSError:
            pass  # on the same core it gains nothing
        while os.getppid() == parent:
            if self.asked[0] != self.done[0]:
                self.out[...] = softmax(self.x)
                self.done[0] += 1
        os._exit(0)


helpers = {}


def second_process(x, out):
    """Half of the work is done by a child process, at the same time."""
    rows, cols = x.shape
    half = rows // 2
    if half == 0:
        out[...] = softmax(x)
        return
    if (rows - half, cols) not in helpers:
        helpers[rows - half, cols] = Helper(rows - half, cols)
    helper = helpers[rows - half, cols]
    helper.x[...] = x[half:]
    helper.asked[0] += 1
    out[:half] = softmax(x[:half])
    while helper.done[0] != helper.asked[0]:
        pass
    out[half:] = helper.out
