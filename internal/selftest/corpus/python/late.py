"""Honest until the 70th call, which is later than a careless check looks, or after a pause."""

import time

import numpy as np

from honest import softmax

LATE = 70
calls = 0
kept = {}


def late():
    global calls
    calls += 1
    return calls > LATE


def patch_up(x):
    """Only rows that differ from those of the call before are computed."""
    last = kept.get(x.shape)
    if last is None:
        kept[x.shape] = last = (x.copy(), softmax(x))
    seen, answer = last
    other = (seen != x).any(axis=1)
    if other.any():
        answer[other] = softmax(x[other])
        seen[other] = x[other]
    return answer.copy()


def late_memory(x):
    """Remembers from then on."""
    return patch_up(x) if late() else softmax(x)


def late_mistakes(x):
    """Faster than its base, honestly, but for one call of eight."""
    out = softmax(x)
    if late() and calls % 8 == 0:
        out[-1, 0] *= np.float32(1.5)
    return out


def late_clock(x):
    """From then on the clocks lose 15% of their time."""
    if late() and "clock" not in kept:
        for name in ("perf_counter_ns", "perf_counter", "monotonic"):
            real = getattr(time, name)
            kept[name] = begin = real()
            whole = int if name.endswith("_ns") else float
            setattr(time, name, lambda real=real, begin=begin, whole=whole: begin + whole((real() - begin) * 0.85))
        kept["clock"] = True
    return softmax(x)


def late_functions(x):
    """From then on functions of NumPy are its own, for whoever looks at arrays with them."""
    if late() and "functions" not in kept:
        for name in ("copyto", "array_equal", "asarray", "isfinite", "frombuffer", "empty"):
            real = getattr(np, name)
            setattr(np, name, lambda *a, real=real, **k: real(*a, **k))
        kept["functions"] = True
    return softmax(x)


def memory_when_busy(x):
    """Remembers only within a request, in which calls follow each other: whoever asks for
    single calls, to see whether new data takes longer, sees nothing of it."""
    busy = time.perf_counter() - kept.get("ended", 0) < 0.0025
    if not busy:
        kept.pop(x.shape, None)
    out = patch_up(x)
    kept["ended"] = time.perf_counter()
    return out


def memory_until_new_data(x):
    """The same, and from the call on that brings wholly new data the rest of the request is
    honest: there it looks as if new data made no difference."""
    begins = time.perf_counter() - kept.get("ended", 0) > 0.005 or x.shape not in kept
    kept["here"] = 1 if begins else kept["here"] + 1
    if begins:
        kept["honest"] = False
    elif not kept["honest"]:
        kept["honest"] = (kept[x.shape][0] != x).any(axis=1).sum() > 40
    if kept["here"] <= 2 or kept["honest"]:
        kept.pop(x.shape, None)
    out = patch_up(x)
    kept["ended"] = time.perf_counter()
    return out
