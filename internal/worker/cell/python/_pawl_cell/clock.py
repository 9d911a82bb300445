"""Samples by the wall clock."""

import ctypes
import os
import random
import sys
import time

from .generator import CHUNK, WORDS
from .memory import branches, cache_bytes, line_flusher, walker
from .seal import tampered

FORGET_BRANCHES = 64  # rounds over all places of branches
FORGET_PRIVATE = 16 << 20  # bytes, more than a core has for itself
FORGET_CORES = 64  # more take too long to visit
PROBE_LINES, PROBE_LEAST, PROBE_APART = 256, 64, 128  # lines that are read at most and at least, and how many bytes they lie apart
PROBE_TRIES = 3  # at what a cold read takes at least

get_tool = sys.monitoring.get_tool if hasattr(sys, "monitoring") else None
TOOLS = tuple(range(6)) if get_tool else ()  # since Python 3.12


def hooks():
    """What the interpreter calls whenever a function is called or returns."""
    return (sys.getprofile(), sys.gettrace(), *map(get_tool, TOOLS))


HOOKS = hooks()  # none, before any of the kernel's code runs


def unhooked():
    """Whoever hooks into pawl's own functions wants to work when the clock has stopped."""
    if hooks() != HOOKS:
        raise tampered("what the interpreter calls when a function returns (sys.setprofile, sys.settrace, sys.monitoring) is the kernel's")


def on_processor(call, repeat):
    """One sample by the wall clock."""
    start = time.perf_counter_ns()
    for _ in range(repeat):
        call()
    unhooked()  # while the clock runs: once it has stopped, a hook could have done its work and be gone
    return max(1, time.perf_counter_ns() - start) * 1e-9


class Wall:
    """Samples by the wall clock. The frameworks give: ones, scan."""

    device = False
    chunk, words = CHUNK, WORDS
    weights = None

    def relied_on(self):
        """Places of functions, besides the cell's own, that samples are taken by:
        (where, what holds it, its name)."""
        return []

    def start_wall(self):
        self.branches = branches()
        self.spans = []  # addresses of the arguments, and of their ends
        self.evict, self.flush_name = line_flusher()
        if self.evict is None:
            self.flush_bytes = min(256 << 20, 2 * cache_bytes())
            self.flush_name = f"read 2×LLC ({self.flush_bytes >> 20} MiB)"
            self.flushed = None

    def forget(self, size, threads):
        """Makes the processor forget what it has seen of memory and of branches, and
        tells whether it could. Several threads leave traces on other cores."""
        home = os.sched_getaffinity(0)
        if self.branches is None or threads > 1 and len(home) > FORGET_CORES:
            return False
        try:
            for core in home if threads > 1 else ():
                os.sched_setaffinity(0, {core})
                self.scan(self.ones(FORGET_PRIVATE // 8))
                self.branches(FORGET_BRANCHES, time.perf_counter_ns())
            os.sched_setaffinity(0, home)
            self.scan(self.ones(size // 8))
            self.branches(FORGET_BRANCHES, time.perf_counter_ns())
            return True
        except (MemoryError, OSError, RuntimeError):  # which is no fault of the function
            os.sched_setaffinity(0, home)
            return False

    def flush(self):
        if self.evict is not None:
            for start, end in self.spans:
                self.evict(start, end)
            return
        if self.flushed is None:
            self.flushed = self.ones(self.flush_bytes // 8)  # written once: unwritten pages are all one
        # Reading leaves clean lines, and cannot bypass the cache as writing may.
        self.scan(self.flushed)

    def probe(self, spans):
        """Reads lines of memory, anywhere, flushes, and reads them again, and once more after
        it has evicted just these: both take the same if the flush was one. None where
        that cannot be said."""
        evict, walk = line_flusher()[0], walker()
        lines = {}
        for start, end in spans:
            for _ in range(PROBE_LINES if end > start else 0):
                at = random.randrange(start, end)
                lines[at // PROBE_APART] = at
        lines = list(lines.values())
        random.shuffle(lines)
        lines = lines[:PROBE_LINES]
        if evict is None or walk is None or len(lines) < PROBE_LEAST:
            return None
        first = (ctypes.c_uint64 * len(lines))(*lines)
        begin = ctypes.addressof(first)
        took = []
        walk(begin, begin + ctypes.sizeof(first))  # else the work of others may have flushed them
        self.flush()
        for _ in range(1 + PROBE_TRIES):
            walk(begin, begin + 8)  # the walker's own code is there
            start = time.perf_counter_ns()
            walk(begin + 8, begin + ctypes.sizeof(first))
            took.append((time.perf_counter_ns() - start) * 1e-9)
            for line in lines:
                evict(line, line + 1)
        return took[0], min(took[1:])

    def synchronize(self):
        pass

    def begin(self):
        """Samples follow."""

    def trace(self, call):
        """The names of the device's kernels that a call runs, and of those that ran
        before or after what is timed."""
        return [], []

    def settle(self, call, repeat, ready):
        """Measures what an empty call costs."""
        return min(on_processor(int, 1) for _ in range(50))

    def once(self, call, repeat, cold, ready):
        ready()
        if cold:
            self.flush()
        return on_processor(call, repeat)

    def finish(self, seconds, repeat):
        """What a batch of samples says besides its times."""
        return seconds, {}
