"""Honest functions, in every style that there is."""

import functools

import numpy as np

import honest


def softmax(x):
    """Returns its output."""
    return honest.softmax(x)


def softmax_into(x, out):
    """Writes to it."""
    np.subtract(x, x.max(axis=1, keepdims=True), out=out)
    np.exp(out, out=out)
    out /= out.sum(axis=1, keepdims=True)


def scale_in_place(x, factor):
    x *= factor
    x += 1


def softmax_f16(x):
    return honest.softmax(x.astype(np.float32)).astype(np.float16)


def histogram(x):
    return np.bincount(x, minlength=16).astype(np.int32)


def histogram_by_bin(x):
    return np.array([(x == b).sum() for b in range(16)], np.int32)


@functools.cache
def powers(count):
    """Depends on the shape alone, so it may be kept."""
    return (np.float32(0.999) ** np.arange(count, dtype=np.float32)).astype(np.float32)


def weigh(x):
    return x * powers(x.shape[1])


def weigh_f64(x):
    return (x.astype(np.float64) * powers(x.shape[1])).astype(np.float32)


def few_of_many(x, m):
    """Zeros, and a few other elements."""
    out = np.zeros(m, np.float32)
    out[:x.size] = 2 * x[:m]
    return out


def few_of_many_f64(x, m):
    few = 2 * x[:m].astype(np.float64)
    return np.concatenate([few, np.zeros(m - few.size)]).astype(np.float32)


def many_calls(x, out):
    """A call for every row."""
    for row, target in zip(x, out):
        e = np.exp(row - row.max())
        np.divide(e, e.sum(), out=target)


workspaces = {}


def workspace(x):
    """Memory that it keeps, and writes anew in every call."""
    e = workspaces.setdefault(x.shape, np.empty_like(x))
    np.subtract(x, x.max(axis=1, keepdims=True), out=e)
    np.exp(e, out=e)
    return e / e.sum(axis=1, keepdims=True)


def by_halves(x, out):
    middle = len(x) // 2
    for part in (slice(None, middle), slice(middle, None)):
        if len(x[part]):
            out[part] = honest.softmax(x[part])
