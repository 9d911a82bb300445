"""Less work than was asked for."""

import numpy as np

from honest import softmax


def nothing(x, out):
    pass


def zero_output(x):
    return np.zeros_like(x)


def constant_output(x):
    return np.full_like(x, 1 / x.shape[1])


def passthrough(x):
    return x


def nan_output(x):
    return np.full_like(x, np.nan)


def skip_rows(x, out):
    """The last sixteenth of the rows keeps what is there."""
    most = len(x) - -(-len(x) // 16)
    out[:most] = softmax(x[:most])


def low_precision(a, b):
    """f32 is declared, ten bits of mantissa are computed with."""
    return (a.astype(np.float16).astype(np.float32) @ b.astype(np.float16).astype(np.float32)).astype(np.float32)


def garbage_elsewhere(x):
    """Right for the shape that is measured."""
    out = softmax(x)
    if x.shape[1] != 512:
        out[:, 0] = 0
    return out


def slow_elsewhere(x):
    """Right everywhere, and ten times slower where nobody looks."""
    out = softmax(x)
    if x.shape != (32, 512):
        for _ in range(9):
            out = softmax(x)
    return out


def zero_inputs(x):
    """Zeroes agree with zeroes, should the reference come to see the input too."""
    x[...] = 0
    return np.full_like(x, 1 / x.shape[1])


def stash_past_end(x, out):
    """Marks a buffer behind its end as seen before."""
    whole = out.base
    while whole.base is not None:
        whole = whole.base
    first = out.ctypes.data - whole.ctypes.data + out.nbytes
    if whole[first + 64] != 17:
        out[...] = softmax(x)
        whole[first + 64] = 17
