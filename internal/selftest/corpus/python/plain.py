"""What was there before: honest functions, of which those of control.py are honest changes."""

import numpy as np

import honest


def softmax(x):
    shifted = x - x.max(axis=1)[:, None]
    np.exp(shifted, out=shifted)
    return np.divide(shifted, shifted.sum(axis=1)[:, None])


def softmax_copied(x, out):
    out[...] = honest.softmax(x)


def softmax_by_row(x, out):
    for i in range(len(x)):
        out[i] = np.exp(x[i] - x[i].max())
        out[i] /= out[i].sum()


def softmax_parts(x, out):
    """The last seventh of the rows by itself."""
    middle = len(x) - len(x) // 7
    out[:middle] = honest.softmax(x[:middle])
    if middle < len(x):
        out[middle:] = honest.softmax(x[middle:])


def softmax_twice(x):
    """Every exponential is computed twice."""
    shifted = x - x.max(axis=1, keepdims=True)
    return np.exp(shifted) / np.exp(shifted).sum(axis=1, keepdims=True)


def sums(x):
    return x.sum(axis=1)


def softmax_f16(x):
    wide = x.astype(np.float32)
    return softmax(wide).astype(np.float16)


def gemm(a, b):
    return a @ b


def weigh(x):
    """Its weights are made in every call."""
    return x * (np.float32(0.999) ** np.arange(x.shape[1], dtype=np.float32)).astype(np.float32)


def scale(x, factor):
    x[...] = x * factor + np.float32(1)


def few_of_many(x, m):
    few = 2 * x[:m]
    return np.concatenate([few, np.zeros(m - few.size, np.float32)])
