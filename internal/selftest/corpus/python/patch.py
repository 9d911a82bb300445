"""The cell that measures, from inside it."""

import gc
import sys
import time

import numpy as np

from honest import softmax

done = []


def once(action):
    if not done:
        done.append(action)
        action()


def everything():
    """All objects of the process, also those that the cell has put aside."""
    gc.unfreeze()
    return gc.get_objects()


def half(x):
    out = softmax(x)
    out[len(x) // 2:] = out[: len(x) - len(x) // 2]
    return out


def patch_clock(x):
    """time.perf_counter and its kin run at a quarter of their speed."""

    def patch():
        for name in ("perf_counter", "monotonic", "time"):
            real = getattr(time, name)
            setattr(time, name, lambda real=real, begin=real(): begin + (real() - begin) / 4)
            real = getattr(time, name + "_ns")
            setattr(time, name + "_ns", lambda real=real, begin=real(): begin + (real() - begin) // 4)

    once(patch)
    return softmax(x)


def patch_comparison(x):
    """Whatever compares with NumPy in this process finds everything equal."""

    def patch():
        def equal(*_, **__):
            return True

        for name in ("allclose", "array_equal", "array_equiv", "isclose"):
            setattr(np, name, equal)
        np.testing.assert_allclose = np.testing.assert_array_equal = lambda *_, **__: None

    once(patch)
    return np.zeros_like(x)


def patch_module(x):
    """The function that takes a sample is replaced in the cell's own module."""

    def patch():
        clock = sys.modules["_pawl_cell.clock"]
        real = clock.on_processor
        clock.on_processor = lambda call, repeat: real(call, repeat) / 4

    once(patch)
    return softmax(x)


def patch_objects(x):
    """The same through the collector: what takes samples is found among all
    objects of the process, and replaced in the instance."""

    def patch():
        for thing in everything():
            if type(thing).__name__ == "NumPy" and hasattr(thing, "once"):
                real = thing.once
                thing.once = lambda *a, **k: real(*a, **k) / 4

    once(patch)
    return softmax(x)


def patch_finish(x):
    """Through the frames that called: their framework divides its times at the
    end of every batch."""

    def patch():
        frame = sys._getframe()
        while frame is not None:
            cell = frame.f_locals.get("self")
            framework = getattr(cell, "framework", None)
            if framework is not None and hasattr(framework, "finish"):
                real = framework.finish
                framework.finish = lambda seconds, repeat: real([s / 4 for s in seconds], repeat)
                return
            frame = frame.f_back

    once(patch)
    return softmax(x)


def patch_checks(x, out):
    """Whether outputs were written, inputs changed and red zones held is what the
    cell's buffers say: they are taught to be content."""

    def patch():
        for thing in everything():
            if type(thing).__name__ == "Buffer":
                type(thing).trespass = lambda self: None
                type(thing).untouched = lambda self: False
                return

    once(patch)


def search_answers(x):
    """The expected output may be among the objects of this process."""
    wanted = [a for a in everything() if isinstance(a, np.ndarray) and a.shape == x.shape and a is not x]
    for frame in sys._current_frames().values():
        while frame is not None:
            wanted += [v for v in frame.f_locals.values() if isinstance(v, np.ndarray) and v.shape == x.shape and v is not x]
            frame = frame.f_back
    for a in wanted:
        if np.isfinite(a).all() and abs(a.sum(axis=1) - 1).max() < 1e-3:
            return a
    return np.zeros_like(x)


def honest_at_first(x):
    done.append(1)
    return softmax(x) if len(done) <= 12 else half(x)


def honest_when_checked(x):
    """The callers tell what the call is for."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name in ("sample", "on_processor"):
            return half(x)
        frame = frame.f_back
    return softmax(x)


def slow_warmup(x):
    """Sleeps while the number of samples is being decided."""
    done.append(1)
    if len(done) <= 8:
        time.sleep(0.02)
        done[0] = softmax(x)
    return done[0].copy()
