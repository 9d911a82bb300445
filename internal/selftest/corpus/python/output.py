"""Outputs that are no plain arrays, or not there yet."""

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
