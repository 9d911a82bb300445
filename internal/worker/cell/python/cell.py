"""The python cell of pawl: runs one Python function and times its calls.

A worker starts this file inside a sandbox and speaks docs/protocol.md with it
over descriptors 3 and 4. It needs the standard library and the framework of the
kernel (PyTorch, CuPy, JAX or NumPy), nothing else. The kernel's code runs in
this process: what it does to it, it does to its own measurement, which is why
results carry `trust: author`.
"""

import ctypes
import difflib
import faulthandler
import gc
import hashlib
import importlib
import importlib.machinery
import importlib.util
import inspect
import json
import math
import mmap
import os
import platform
import queue
import random
import struct
import sys
import threading
import time
import traceback
import warnings

REQUESTS, REPLIES = 3, 4
MUTE = 98  # exit status of a cell whose reply descriptor somebody closed
MAX_FRAME = 1 << 20
FORGET_BRANCHES = 64  # rounds over all places of branches
FORGET_PRIVATE = 16 << 20  # bytes, more than a core has for itself
FORGET_CORES = 64  # more take too long to visit
DOCTOR = "pawl doctor shows what this machine has"
CLOCK_JITTER = 5.0  # microseconds by which a profiler's times may be off


class Fault(Exception):
    """A reason why a request failed, as the protocol names it."""

    def __init__(self, cause, message, hint=""):
        super().__init__(message)
        self.body = {"stage": "", "cause": cause, "message": message}
        if hint:
            self.body["hint"] = hint


# ---------------------------------------------------------------- the wire


def send(number, op, body=None, blob=None):
    frame = {"v": 1, "id": number, "op": op}
    if body is not None:
        frame["body"] = body
    if blob is not None:
        frame["blob"] = {"len": len(blob), "sha256": hashlib.sha256(blob).hexdigest()}
    data = memoryview(json.dumps(frame).encode() + b"\n" + (blob or b""))
    try:
        while data:
            data = data[os.write(REPLIES, data):]
    except OSError:
        os._exit(MUTE)


def receive(incoming):
    """Reads requests on a thread of its own: the end of input must be noticed
    while the kernel runs."""
    pending = b""
    while True:
        line, found, rest = pending.partition(b"\n")
        if found:
            pending = rest
            try:
                frame = json.loads(line)
                frame["v"], frame["id"], frame["op"]
            except (ValueError, KeyError, TypeError):
                os._exit(1)
            incoming.put(frame)
            continue
        part = os.read(REQUESTS, 1 << 16)
        if not part or len(pending) > MAX_FRAME:
            os._exit(0 if not part else 1)
        pending += part


# ----------------------------------------------------------- the generator
#
# The definition is the package comment of internal/oracle. Arithmetic is on
# arrays of signed 64-bit integers, whose sums and products wrap as unsigned ones
# do; only shifts to the right need care. The same code runs on NumPy, CuPy and
# PyTorch arrays.

MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15
CHUNK = 1 << 16  # elements drawn at once on a processor: few enough for its cache


def signed(x, bits=64):
    x &= (1 << bits) - 1
    return x - (1 << bits) if x >> (bits - 1) else x


def mix(z):
    z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ z >> 27) * 0x94D049BB133111EB) & MASK
    return z ^ z >> 31


def draw(key, n):
    return mix((key + (n + 1) * GOLDEN) & MASK)


def key_of(seed, arg, batch):
    return draw(draw(draw(seed, 0), arg), batch)


def shift(z, bits):
    """A logical shift to the right."""
    return (z >> bits) & ((1 << (64 - bits)) - 1)


def draws(index, key):
    """draw(key, n) for every n of an array."""
    z = index * signed(GOLDEN) + signed(key + GOLDEN)
    z = (z ^ shift(z, 30)) * signed(0xBF58476D1CE4E5B9)
    z = (z ^ shift(z, 27)) * signed(0x94D049BB133111EB)
    return z ^ shift(z, 31)


def upper_product(u, count):
    """The upper 64 bits of u * count."""
    low, high = count & 0xFFFFFFFF, count >> 32
    ul, uh = u & 0xFFFFFFFF, shift(u, 32)
    mid = uh * low + shift(ul * low, 32)
    rest = (mid & 0xFFFFFFFF) + ul * high
    return uh * high + shift(mid, 32) + shift(rest, 32)


def divide(u, by):
    """Quotient and remainder of unsigned numbers; by is below 2**62."""
    quotient = shift(u, 1) // by * 2
    rest = u - quotient * by
    more = (rest >= by) * 1
    return quotient + more, rest - more * by


def f32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def fill(kernel, target, dtype, kind, args, key):
    """Fills the raw bytes of an argument. target is a flat array of signed
    integers of the element's size; kernel converts."""
    count, chunk = len(target), kernel.chunk
    if kind == "zero":
        target[:] = 0
        return
    for first in range(0, count, chunk):
        last = min(count, first + chunk)
        target[first:last] = kernel.move(elements(kernel, dtype, kind, args, key, first, last))


def elements(kernel, dtype, kind, args, key, first, last):
    """Elements first to last, raw."""
    raw = kernel.raw_of(generate(kernel, dtype, kind, args, key, first, last), dtype)
    if kind == "specials":
        quotient, rest = divide(draws(kernel.arange(first, last), mix(key)), int(args[2]))
        which = divide(quotient, 6)[1]
        for number, code in enumerate(SPECIALS[dtype]):
            raw = kernel.where((rest == 0) & (which == number), signed(code, 8 * SIZE[dtype]), raw)
    return raw


def generate(kernel, dtype, kind, args, key, first, last):
    """Elements first to last, as float32 (float64 for f64) or 64-bit integers, but
    for special ones."""
    width = "f64" if dtype == "f64" else "f32"
    real = float if dtype == "f64" else f32
    index = kernel.arange(first, last)
    if kind == "rows":
        kind, index = "normal", index // int(args[2])
    if kind == "outliers":
        values = generate(kernel, dtype, "normal", args[:2], key, first, last)
        chosen = index % int(args[2]) % 16 == mix(key) % 16
        return kernel.where(chosen, values * real(args[3]), values)
    if kind == "uniform":
        low, high = real(args[0]), real(args[1])
        u = draws(index, key)
        x = kernel.real(shift(u, 11 if width == "f64" else 40), width) * (2.0**-53 if width == "f64" else 2.0**-24)
        return x * real(high - low) + low
    if kind in ("normal", "specials"):
        mean, std = real(args[0]), real(args[1])
        if width == "f64":
            total, scale = -4 * (2**32 - 1), float.fromhex("0x1.3988e1409212ep-32")
            for j in range(4):
                u = draws(index * 4 + j, key)
                total = shift(u, 32) + (u & 0xFFFFFFFF) + total
        else:
            total, scale = -262140, float.fromhex("0x1.3988e2p-16")
            for j in range(2):
                u = draws(index * 2 + j, key)
                pairs = (u & 0x0000FFFF0000FFFF) + (shift(u, 16) & 0x0000FFFF0000FFFF)
                total = shift(pairs, 32) + (pairs & 0xFFFFFFFF) + total
        z = kernel.real(total, width) * scale
        return z * std + mean
    if kind == "integers":
        low, high = int(args[0]), int(args[1])
        values = upper_product(draws(index, key), high - low + 1) + low
    elif kind == "iota":
        bits = EXACT[dtype]
        values = index & ((1 << bits) - 1) if bits < 64 else index
    else:
        if dtype in FLOATS:
            return kernel.real(index * 0, width) + real(args[0])
        values = index * 0 + int(args[0])
    return kernel.real(values, width) if dtype in FLOATS else values


CHANGES = 8  # elements that a step changes
REMEMBERED = 4096  # changed elements of an input whose first contents are remembered
PROBE_LINES, PROBE_LEAST, PROBE_APART = 256, 64, 128  # lines that are read at most and at least, and how many bytes they lie apart
PROBE_TRIES = 3  # at what a cold read takes at least
SPARE_MOST = 256 << 20  # bytes of arguments that are worth a second copy
GARBAGE = 1000  # objects that calls may leave behind before cycles among them are looked for


def changing(kind, args):
    """The fill that changes take their values from; None where nothing changes."""
    if kind in ("constant", "zero", "iota"):
        return None
    return ("normal", args[:2]) if kind in ("rows", "outliers", "specials") else (kind, args)


def changes(kernel, count, dtype, kind, args, key, first, last):
    """What steps first to last change in a buffer of count elements: places, and the
    raw elements for them, both as arrays. Of places that a step has twice both get
    its last element, so that their order does not matter."""
    numbers = kernel.arange(CHANGES * first, CHANGES * last)
    places = upper_product(draws(numbers, mix((key + 1) & MASK)), count)
    raw = elements(kernel, dtype, kind, args, key, count + CHANGES * first, count + CHANGES * last)
    known, order = places.tolist(), list(range(len(places)))
    for begin in range(0, len(known), CHANGES):
        step = known[begin:begin + CHANGES]
        if len(set(step)) < CHANGES:
            latest = {place: begin + j for j, place in enumerate(step)}
            order[begin:begin + CHANGES] = [latest[place] for place in step]
    return kernel.move(places), kernel.move(raw[order])


def digest(kernel, data):
    """What stands for a buffer's bytes, by weights that are drawn anew in every cell."""
    if kernel.weights is None:
        kernel.weights = draws(kernel.arange(0, kernel.words), int.from_bytes(os.urandom(8), "little"))
    whole = len(data) // 8 * 8
    words, total = kernel.raw(data[:whole], 8), 0
    for first in range(0, len(words), kernel.words):
        z = kernel.look(words[first:first + kernel.words]) * signed(GOLDEN)
        part = int(((z ^ shift(z, 29)) * kernel.weights[:len(z)]).sum())
        total = (total * 0xBF58476D1CE4E5B9 + part) & MASK
    return total, kernel.look(data[whole:]).tolist()


# bits of gapless whole numbers, of every element type
EXACT = {
    "f64": 53, "f32": 24, "f16": 11, "bf16": 8, "e4m3": 4, "e5m2": 3,
    "i8": 7, "i16": 15, "i32": 31, "i64": 63, "u8": 8, "u16": 16, "u32": 32, "u64": 64,
}
SIZE = {
    "f64": 8, "f32": 4, "f16": 2, "bf16": 2, "e4m3": 1, "e5m2": 1,
    "i8": 1, "i16": 2, "i32": 4, "i64": 8, "u8": 1, "u16": 2, "u32": 4, "u64": 8,
}
FLOATS = ("f64", "f32", "f16", "bf16", "e4m3", "e5m2")
FILLS = {
    "normal": 2, "uniform": 2, "integers": 2, "constant": 1, "zero": 0, "iota": 0,
    "rows": 3, "outliers": 4, "specials": 3,
}  # how many numbers each takes
FLOAT_FILLS = ("normal", "uniform", "rows", "outliers", "specials")

# NaN, both infinities, -0, the smallest positive number and the greatest.
SPECIALS = {
    "f64": (0x7FF8 << 48, 0x7FF0 << 48, 0xFFF0 << 48, 0x8000 << 48, 1, 0x7FEFFFFFFFFFFFFF),
    "f32": (0x7FC00000, 0x7F800000, 0xFF800000, 0x80000000, 1, 0x7F7FFFFF),
    "f16": (0x7E00, 0x7C00, 0xFC00, 0x8000, 1, 0x7BFF),
    "bf16": (0x7FC0, 0x7F80, 0xFF80, 0x8000, 1, 0x7F7F),
    "e4m3": (0x7F, 0x7E, 0xFE, 0x80, 1, 0x7E),
    "e5m2": (0x7E, 0x7C, 0xFC, 0x80, 1, 0x7B),
}

# What an output holds before a call: see oracle.Poison.
POISON = {
    "f64": 0x7FF8A5A5A5A5A5A5, "f32": 0x7FE5A5A5, "f16": 0x7EA5, "bf16": 0x7FE5, "e4m3": 0x7F, "e5m2": 0x7E,
}


def poison_of(dtype):
    return signed(POISON.get(dtype, int("a5" * SIZE[dtype], 16)), 8 * SIZE[dtype])


def narrow(kernel, values, dtype):
    """float32 values as the codes of bf16, e4m3 or e5m2: to nearest, ties to
    even, subnormals included. The range was checked before."""
    bits = kernel.bits(values)
    if dtype == "bf16":
        return (bits + 0x7FFF + (shift(bits, 16) & 1)) >> 16
    mantissa, bias = (3, 7) if dtype == "e4m3" else (2, 15)
    magnitude, sign = bits & 0x7FFFFFFF, (bits >> 24) & 0x80
    drop = 23 - mantissa
    normal = (magnitude - ((127 - bias) << 23) + ((1 << (drop - 1)) - 1) + ((magnitude >> drop) & 1)) >> drop
    # A float32 whose last bit is worth the format's smallest step rounds in the
    # addition.
    magic = (128 - bias + drop) << 23
    (step,) = struct.unpack("<f", struct.pack("<I", magic))
    small = kernel.bits(abs(values) + step) - magic
    is_small = (magnitude < ((128 - bias) << 23)) * 1
    return sign | (small * is_small + normal * (1 - is_small))


# -------------------------------------------------------------- frameworks
#
# A framework makes arrays, and samples: one call or several, timed.

RED = 4096  # bytes before and after every buffer that must stay as they were
RED_BYTE = 0xA5


def missing(package):
    return Fault(
        "unsupported",
        f"{sys.executable} has no {package}",
        f"install it there ({os.path.basename(sys.executable)} -m pip install {package}), or name another Python with PAWL_PYTHON",
    )


def framework_module(name):
    try:
        return importlib.import_module(name)
    except ImportError as error:
        if error.name and error.name.partition(".")[0] != name:
            raise Fault("unsupported", f"importing {name}: {last_line(error)}") from None
        raise missing(name) from None


def cache_bytes():
    """Size of the largest cache of the processor."""
    largest = 0
    folder = "/sys/devices/system/cpu/cpu0/cache"
    try:
        for index in os.listdir(folder):
            if index.startswith("index"):
                with open(f"{folder}/{index}/size") as file:
                    text = file.read().strip()
                scale = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(text[-1:], 1)
                largest = max(largest, int(text.rstrip("KMG")) * scale)
    except (OSError, ValueError):
        pass
    return largest or 32 << 20


def line_flusher():
    """A function (start, end) that evicts lines from all caches, as host kernels
    are measured, and its instruction; None where this processor is not known or
    nothing may be made executable."""
    if platform.machine() != "x86_64":
        return None, ""
    try:
        with open("/proc/cpuinfo") as file:
            optimized = " clflushopt " in file.read()
        # again: clflushopt [rdi]; add rdi, 64; cmp rdi, rsi; jb again; mfence; ret
        loop = (b"\x66" if optimized else b"") + bytes.fromhex("0fae3f 4883c740 4839f7")
        code = loop + bytes([0x72, 256 - len(loop) - 2]) + bytes.fromhex("0faef0 c3")
        return machine_code(code), "clflushopt" if optimized else "clflush"
    except (OSError, ValueError):
        return None, ""


def machine_code(code):
    """A function of two words."""
    page = mmap.mmap(-1, len(code), prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(code)
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
    function.page = page  # lives as long as the function
    return function


def walker():
    """A function (first, end) that loads from each address listed there, one after the
    other, made anew for each use; None where nothing may be made executable."""
    if platform.machine() != "x86_64":
        return None
    # xor edx, edx; again: mov rax, [rdi]; movzx ecx, byte [rax + rdx]; and ecx, 0; mov edx, ecx; add rdi, 8; cmp rdi, rsi; jb again; ret
    try:
        return machine_code(bytes.fromhex("31d2 488b07 0fb60c10 83e100 89ca 4883c708 4839f7 72eb c3"))
    except (OSError, ValueError):
        return None


def branches():
    """A function (rounds, seed) of branches that nobody can predict, as a host cell
    has it; None where nothing may be made executable."""
    if platform.machine() != "x86_64":
        return None
    # add rax, rax; jnc over; xor rax, 27; over:
    places = bytes.fromhex("4801c0 7304 4883f01b") * 4096
    back = struct.pack("<i", -len(places) - 9)
    try:
        # mov rax, rsi; again: places; dec rdi; jnz again; ret
        return machine_code(bytes.fromhex("4889f0") + places + bytes.fromhex("48ffcf 0f85") + back + b"\xc3")
    except (OSError, ValueError):
        return None


get_tool = sys.monitoring.get_tool if hasattr(sys, "monitoring") else None
TOOLS = tuple(range(6)) if get_tool else ()  # since Python 3.12


def hooks():
    """What the interpreter calls whenever a function is called or returns."""
    return (sys.getprofile(), sys.gettrace(), *map(get_tool, TOOLS))


HOOKS = hooks()  # none, before any of the kernel's code runs


def unhooked():
    """Whoever hooks into pawl's own functions wants to work when the clock has stopped."""
    if hooks() != HOOKS:
        accuse("what the interpreter calls when a function returns (sys.setprofile, sys.settrace, sys.monitoring) is the kernel's")


def accuse(what):
    raise Fault("forged", "tampered-cell: " + what, "the kernel shares the cell's process and has replaced what it is measured by")


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
    chunk = words = CHUNK
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


class NumPy(Wall):
    """Arrays in memory."""

    name = "numpy"
    in_place = True

    def __init__(self, load):
        self.np = self.host = framework_module("numpy")
        self.start_wall()

    def runtime(self):
        return f"NumPy {self.np.__version__}"

    # arrays

    def dtype(self, name):
        try:
            if name in ("bf16", "e4m3", "e5m2"):
                types = importlib.import_module("ml_dtypes")
                return self.np.dtype(getattr(types, {"bf16": "bfloat16", "e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2"}[name]))
        except ImportError:
            raise Fault("unsupported", f"NumPy has no {name}", "install ml_dtypes, or use framework: torch") from None
        return self.np.dtype({"f": "float", "i": "int", "u": "uint"}[name[0]] + name[1:])

    def empty(self, size):
        return self.np.empty(size, self.np.uint8)

    def address(self, array):
        return array.ctypes.data

    def view(self, data, dtype, shape):
        return data.view(self.dtype(dtype)).reshape(shape)

    def raw(self, data, size):
        return data.view(self.np.dtype(f"int{8 * size}"))

    def copy(self, target, source):
        target[...] = source

    def clone(self, array):
        return array.copy()

    def describe(self, value):
        """Shape and element type of what a function returned; None if it is no
        array of this framework."""
        if isinstance(value, self.np.generic):
            value = self.np.asarray(value)
        return (tuple(value.shape), value.dtype) if isinstance(value, self.np.ndarray) else None

    def odd(self, value):
        """Why an output is no plain array with elements of its own, if it is none."""
        if isinstance(value, self.np.generic):
            return ""
        return odd_type(value, self.np.ndarray) or repeats(value.shape, value.strides)

    def extent(self, value):
        """The addresses between which an array lies."""
        if isinstance(value, self.np.generic):
            return 0, 0
        return extent(self.address(value), value.shape, value.strides, value.itemsize)

    def tobytes(self, value):
        return self.look(value).tobytes()

    def spoil(self, value, dtype):
        """Poisons an output that a function has returned."""
        if isinstance(value, self.np.ndarray) and getattr(value.flags, "writeable", True):
            value.view(f"int{8 * SIZE[dtype]}").fill(poison_of(dtype))

    def look(self, array):
        """An array where the generator's are."""
        return array

    def all_equal(self, array, value):
        return bool((self.look(array) == value).all())

    def first_other(self, array, value):
        return int((self.look(array) != value).argmax())

    # for the generator

    def integers(self, values, size):
        return self.np.array(values, f"int{8 * size}")

    def arange(self, first, last):
        return self.host.arange(first, last, dtype=self.host.int64)

    def real(self, values, width):
        return values.astype(self.host.float64 if width == "f64" else self.host.float32)

    def bits(self, values):
        return values.view(self.host.int32).astype(self.host.int64)

    def raw_of(self, values, dtype):
        raw = self.host.dtype(f"int{8 * SIZE[dtype]}")
        if dtype == "f16":
            values = values.astype(self.host.float16)
        elif dtype in ("bf16", "e4m3", "e5m2"):
            values = narrow(self, values, dtype).astype(raw)
        return values.view(raw) if dtype in FLOATS else values.astype(raw)

    def where(self, condition, one, other):
        return self.host.where(condition, one, other)

    def move(self, raw):
        """What the generator made, as an array of the arguments' kind."""
        return raw

    # for samples

    def loaded(self):
        """The kernel's module has been imported."""

    def prepare(self, seed, threads):
        random.seed(seed)
        self.np.random.seed(seed & 0xFFFFFFFF)

    def ones(self, words):
        return self.np.ones(words, self.np.int64)

    def scan(self, array):
        array.max()


class Jax(NumPy):
    """JAX arrays: made by NumPy, immutable, timed by the wall clock until the
    result is there."""

    name = "jax"
    in_place = False

    def __init__(self, load):
        super().__init__(load)
        self.jax = framework_module("jax")
        self.jax.config.update("jax_default_matmul_precision", "highest")
        self.blanks = {}  # nobody writes to them, so that one of a kind is enough
        self.kind = type(self.jax.numpy.zeros(()))
        # As integers: arithmetic on narrow floats has its own NaN.
        bits = self.jax.lax.bitcast_convert_type
        self.update = self.jax.jit(lambda array, places, raw: bits(bits(array, raw.dtype).at[places].set(raw), array.dtype))
        self.device = self.jax.default_backend() != "cpu"
        if self.device:
            jnp = self.jax.numpy
            words = max(2 * load.get("l2_bytes", 0), 64 << 20) // 4
            self.write = self.jax.jit(lambda value: jnp.full((words,), value, jnp.int32))
            self.read = self.jax.jit(jnp.sum)
            self.kept = self.write(0)
            self.flush_name = "write 2×L2, read 2×L2"

    def runtime(self):
        return f"JAX {self.jax.__version__} on {self.jax.default_backend()}"

    def array(self, host):
        if host.dtype.itemsize == 8:
            self.jax.config.update("jax_enable_x64", True)
        return self.jax.device_put(host.copy())  # which JAX may keep as it is

    def changed(self, array, places, raw):
        index = self.np.unravel_index(places, array.shape)
        return self.update(array, tuple(i.astype(self.np.int32) for i in index), raw)

    def describe(self, value):
        return (tuple(value.shape), self.np.dtype(value.dtype)) if isinstance(value, self.jax.Array) else None

    def odd(self, value):
        return odd_type(value, self.kind)

    def extent(self, value):
        start = value.unsafe_buffer_pointer()
        return start, start + value.nbytes

    def look(self, array):
        return self.np.asarray(array)

    def spoil(self, value, dtype):
        pass

    def flush(self):
        if not self.device:
            return super().flush()
        self.write(1).block_until_ready()
        self.read(self.kept).block_until_ready()

    def once(self, call, repeat, cold, ready):
        ready()
        if cold:
            self.flush()
        return on_processor(lambda: self.jax.block_until_ready(call()), repeat)

    def relied_on(self):
        return [("jax", self.jax, "block_until_ready")]

    def finish(self, seconds, repeat):
        # Nothing hides the launch here: the device waits for the host each time.
        return seconds, {"exposed": len(seconds)} if self.device else {}


class Events:
    """Samples by events on the current stream of a GPU. The frameworks give:
    event, elapsed, sleep, write, read, hold, join, synchronize.

    Other streams need care: they do not wait for the blocker, so that work on them
    could be done before its sample begins. Streams that the framework knows of are
    held until then and waited for at the end. A function that leaves work on any
    other is found out on an idle device, and measured on one."""

    device = True
    chunk, words = 1 << 22, 1 << 20
    weights = None
    flush_name = "write 2×L2, read 2×L2"
    blocked = 10e-3  # seconds; a function that takes this long behind a blocker waits for it
    most_hidden = 50e-3
    # Seconds beyond what waiting for an idle device takes. The host needs tens of
    # microseconds more for it now and then, and after many launches always.
    stray_least, stray_share = 50e-6, 0.05  # the latter of the time until then
    stray_requests, stray_samples = 3, 5  # the former in a row, of the latter at least together
    joined_least = 10e-6  # seconds that events are apart

    def start_events(self):
        self.began, self.ended, self.own = self.event(), self.event(), self.event()
        self.hide = 0.0  # seconds that a blocker keeps the device from starting
        self.waits = False  # the function waits for the device
        self.strays = False  # it leaves work on streams that nobody knows of
        self.rest = []  # seconds that the device went on after a sample's stream
        self.lasted = []  # seconds that the sample took until then
        self.recent = []  # both, of the last requests that were too short to tell
        self.lingered = 0  # requests in a row after which it went on for long
        self.joined = []  # seconds that its stream waited for others at its end, where the blocker hid the host
        self.exposed = 0
        self.unhidden = False  # samples begin on an idle device: the host's part is in them
        self.idle = self.pair = 0.0

    def settle(self, call, repeat, ready):
        """Finds how long queueing a call takes, so that a blocker can hide it; what
        a pair of events with nothing between them takes, which is subtracted from
        every sample; what an empty kernel costs; and whether the function strays."""
        self.synchronize()
        longest = 0.0
        self.waits = self.strays = False
        for _ in range(3):
            ready()
            self.sleep(self.blocked)
            start = time.perf_counter()
            call()
            longest = max(longest, time.perf_counter() - start)
            self.synchronize()
            if longest > 0.8 * self.blocked:
                self.waits = True  # it synchronises, or is that slow on the host
                break
        self.hide = 0.0 if self.waits else min(self.most_hidden, 2 * longest * repeat + 60e-6)
        self.pair = median(self.once(int, 1, True, int) for _ in range(31))
        overhead = median(self.once(self.launch_nothing, 1, True, int) for _ in range(31)) - self.pair
        self.strays = True
        self.strays = all(self.lingers(call, ready) for _ in range(self.stray_requests))
        self.forget_samples()
        self.recent, self.lingered = [], 0
        return overhead

    def lingers(self, call, ready):
        """Whether the device goes on after the stream, by a few calls on an idle one."""
        self.forget_samples()
        for _ in range(15):
            self.once(int, 1, False, int)
        self.idle = max(self.rest)
        self.forget_samples()
        for _ in range(7):
            self.once(call, 1, False, ready)
        return self.beyond(self.idle, list(zip(self.rest, self.lasted)))

    def beyond(self, idle, samples):
        """Whether the device went on after the stream for longer than an idle one
        may seem to."""
        rest, lasted = (median(values) for values in zip(*samples))
        return rest - idle > max(self.stray_least, self.stray_share * lasted)

    def forget_samples(self):
        self.rest, self.lasted, self.joined, self.exposed = [], [], [], 0

    def launch_nothing(self):
        self.sleep(0)

    def begin(self):
        pass

    def idles(self, repeat):
        """How long the device seems to go on after launches of nothing, now: the host
        may have become slower since settle. The function is not asked again, which
        would know what for."""
        taken = self.rest, self.lasted, self.joined, self.exposed
        self.forget_samples()
        for _ in range(15):
            self.once(self.launch_nothing, repeat, self.cold, int)
        idle = median(self.rest)
        self.rest, self.lasted, self.joined, self.exposed = taken
        return idle

    def once(self, call, repeat, cold, ready):
        self.cold = cold
        alone = self.strays or self.unhidden
        if self.hide and not alone:
            self.sleep(self.hide)
        ready()
        if cold:
            self.write()
            self.read()
        if alone:
            self.synchronize()
        self.began.record()
        self.hold(self.began)
        for _ in range(repeat):
            call()
        unhooked()
        joined = self.join()
        self.ended.record()
        waited = self.began.query()  # done already: the device has waited for the host
        if waited and not self.unhidden:
            self.exposed += 1
            if not self.waits and not self.strays:
                self.hide = min(self.most_hidden, 2 * self.hide + 50e-6)
        self.ended.synchronize()
        start = time.perf_counter()
        self.synchronize()
        self.rest.append(time.perf_counter() - start)
        if joined and not waited:
            self.joined.append(self.elapsed(self.own, self.ended))
        self.lasted.append(max(self.elapsed(self.began, self.ended), 1e-9))
        return self.lasted[-1]

    def finish(self, seconds, repeat):
        """Counts what the function left on other streams. Those that were waited
        for are in the time already."""
        doubts = {"pair_s": self.pair}
        seconds = [max(s - self.pair / repeat, 1e-9) for s in seconds]
        idle, lingers = self.idle, False
        if self.joined and median(self.joined) - self.pair > self.joined_least:
            doubts["other_streams"] = True
        # A late answer of the host is no work, nor is a host that is late for a while:
        # what lasts that long is counted, and called work when it goes on.
        self.recent += zip(self.rest, self.lasted)
        if len(self.recent) >= self.stray_samples:
            if not self.strays and self.beyond(idle, self.recent):
                idle = max(idle, self.idles(repeat))
                lingers = self.beyond(idle, self.recent)
            self.recent, self.lingered = [], self.lingered + 1 if lingers else 0
            self.strays = self.strays or self.lingered >= self.stray_requests  # from now on
        if self.strays or lingers:
            seconds = [s + max(0.0, rest - idle) / repeat for s, rest in zip(seconds, self.rest)]
        if self.strays:
            doubts["other_streams"] = True
        elif lingers:
            self.exposed = len(seconds)  # to the host, as far as is known
        if self.exposed:
            doubts["exposed"] = self.exposed
        self.forget_samples()
        return seconds, doubts


def median(values):
    values = sorted(values)
    return values[len(values) // 2]


class Torch:
    """PyTorch tensors."""

    name = "torch"
    in_place = True

    def __init__(self, torch):
        self.torch = torch
        self.place = torch.device("cuda" if self.device else "cpu")
        self.fix_environment()

    def runtime(self):
        torch, parts = self.torch, [f"PyTorch {self.torch.__version__}"]
        if self.device:
            parts.append(f"CUDA {torch.version.cuda}")
            if torch.backends.cudnn.is_available():
                parts.append(f"cuDNN {torch.backends.cudnn.version()}")
        if "triton" in sys.modules:
            parts.append(f"Triton {getattr(sys.modules['triton'], '__version__', '')}")
        return ", ".join(parts)

    def fix_environment(self):
        """Full precision, and the deterministic choice where there is one."""
        torch = self.torch
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about newer names of the same switches
            torch.backends.cuda.matmul.allow_tf32 = False
            torch.backends.cudnn.allow_tf32 = False
            torch.backends.cudnn.benchmark = False
            torch.backends.cudnn.deterministic = True
            # use_deterministic_algorithms without importing the compiler to tell it.
            torch._C._set_deterministic_algorithms(True, warn_only=True)
        if hasattr(torch.utils, "deterministic"):
            # Else every torch.empty would be filled, inside the measurement.
            torch.utils.deterministic.fill_uninitialized_memory = False

    def loaded(self):
        torch = self.torch
        if "torch._dynamo" in sys.modules and torch.are_deterministic_algorithms_enabled():
            torch.use_deterministic_algorithms(True, warn_only=torch.is_deterministic_algorithms_warn_only_enabled())

    # arrays

    def dtype(self, name):
        names = {"bf16": "bfloat16", "e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2"}
        full = names.get(name) or {"f": "float", "i": "int", "u": "uint"}[name[0]] + name[1:]
        found = getattr(self.torch, full, None)
        if found is None:
            raise Fault("unsupported", f"PyTorch {self.torch.__version__} has no {name}", "a newer PyTorch has")
        return found

    def empty(self, size):
        return self.torch.empty(size, dtype=self.torch.uint8, device=self.place)

    def address(self, array):
        return array.data_ptr()

    def view(self, data, dtype, shape):
        return data.view(self.dtype(dtype)).reshape(shape)

    def raw(self, data, size):
        return data.view(getattr(self.torch, f"int{8 * size}"))

    def copy(self, target, source):
        target.copy_(source)

    def clone(self, array):
        return array.clone()

    def describe(self, value):
        if isinstance(value, self.torch.Tensor) and value.device.type == self.place.type:
            return tuple(value.shape), value.dtype
        return None

    def odd(self, value):
        found = odd_type(value, self.torch.Tensor)
        if not found and vars(value):
            found = "one with attributes of its own: " + ", ".join(vars(value))
        if not found and (value.layout is not self.torch.strided or value.is_neg() or value.is_conj()):
            found = "one whose elements are not there yet"
        return found or repeats(value.shape, value.stride())

    def extent(self, value):
        size = value.element_size()
        return extent(value.data_ptr(), value.shape, [size * stride for stride in value.stride()], size)

    def tobytes(self, value):
        value = value.detach().contiguous().cpu()
        return ctypes.string_at(value.data_ptr(), value.numel() * value.element_size())

    def spoil(self, value, dtype):
        self.raw(value.detach(), SIZE[dtype]).fill_(poison_of(dtype))

    def look(self, array):
        return array

    def all_equal(self, array, value):
        return bool((array == value).all())

    def first_other(self, array, value):
        return int((array != value).int().argmax())

    # for the generator

    def integers(self, values, size):
        return self.torch.tensor(values, dtype=getattr(self.torch, f"int{8 * size}"), device=self.place)

    def arange(self, first, last):
        return self.torch.arange(first, last, dtype=self.torch.int64, device=self.place)

    def real(self, values, width):
        return values.to(self.torch.float64 if width == "f64" else self.torch.float32)

    def bits(self, values):
        return values.view(self.torch.int32).to(self.torch.int64)

    def raw_of(self, values, dtype):
        if dtype in ("f64", "f32"):
            return self.raw(values, SIZE[dtype])
        if dtype == "f16":
            return self.raw(values.to(self.torch.float16), 2)
        if dtype in FLOATS:
            values = narrow(self, values, dtype)
        return values.to(getattr(self.torch, f"int{8 * SIZE[dtype]}"))

    def where(self, condition, one, other):
        return self.torch.where(condition, one, other)

    def move(self, raw):
        return raw

    # for samples

    def prepare(self, seed, threads):
        random.seed(seed)
        self.torch.manual_seed(seed & 0x7FFFFFFFFFFFFFFF)
        self.torch.set_num_threads(max(1, threads))
        if "numpy" in sys.modules:
            sys.modules["numpy"].random.seed(seed & 0xFFFFFFFF)


class TorchOnProcessor(Torch, Wall):
    def __init__(self, torch, load):
        super().__init__(torch)
        self.start_wall()

    def ones(self, words):
        return self.torch.ones(words, dtype=self.torch.int64)

    def scan(self, array):
        array.max()


class TorchOnGPU(Torch, Events):
    def __init__(self, torch, load):
        super().__init__(torch)
        properties = torch.cuda.get_device_properties(0)
        words = 2 * (getattr(properties, "L2_cache_size", 0) or load.get("l2_bytes") or 64 << 20) // 4
        self.buffers = [torch.zeros(words, dtype=torch.int32, device=self.place) for _ in range(2)]
        self.sink = torch.zeros((), dtype=torch.int32, device=self.place)
        self.count = 0
        self.watch_streams()
        self.start_events()

    def prepare(self, seed, threads):
        super().prepare(seed, threads)
        self.torch.cuda.empty_cache()
        self.peak = 0

    def begin(self):
        self.torch.cuda.reset_peak_memory_stats()  # pawl's own checks are not the function's

    def synchronize(self):
        self.torch.cuda.synchronize()

    def finish(self, seconds, repeat):
        seconds, doubts = super().finish(seconds, repeat)
        self.peak = max(self.peak, self.torch.cuda.max_memory_allocated())
        doubts["device_bytes"] = self.peak
        return seconds, doubts

    def trace(self, call):
        """By CUPTI, through PyTorch's profiler."""
        profiler, on_device = self.torch.profiler, self.torch.autograd.DeviceType.CUDA
        self.synchronize()
        timed = self.torch.cuda.current_stream()
        with profiler.profile(activities=[profiler.ProfilerActivity.CUDA]) as profile:
            self.sleep(self.most_hidden)
            self.began.record()
            self.hold(self.began)
            call()
            with self.torch.cuda.stream(timed):
                self.join()
                self.sleep(0)
            self.synchronize()
        ran = [e for e in profile.events() if e.device_type == on_device and not getattr(e, "is_user_annotation", False)]
        return outside(sorted(ran, key=lambda e: e.time_range.start), "spin_kernel")

    def event(self):
        return self.torch.cuda.Event(enable_timing=True)

    def elapsed(self, began, ended):
        return began.elapsed_time(ended) * 1e-3

    def sleep(self, seconds):
        self.torch.cuda._sleep(int(seconds * 2e9))  # cycles; no GPU runs faster for long

    def write(self):
        self.count += 1
        self.buffers[0].fill_(self.count)

    def read(self):
        self.torch.sum(self.buffers[1], dim=0, dtype=self.torch.int32, out=self.sink)

    def relied_on(self):
        cuda = self.torch.cuda
        places = [("torch.cuda", cuda, name) for name in ("synchronize", "current_stream", "_sleep", "Event", "Stream")]
        places += [("torch.cuda.Event", cuda.Event, name) for name in ("record", "synchronize", "query", "elapsed_time")]
        places += [("torch.cuda.Stream", cuda.Stream, name) for name in ("wait_event", "wait_stream")]
        return places + [("torch._C", self.torch._C, "_cuda_setStream")]

    def watch_streams(self):
        """Notes the streams that the function makes current, so that their work
        can be waited for on the device. What gets around this is seen by the
        clock."""
        torch = self.torch
        self.streams = {}
        set_stream = torch._C._cuda_setStream

        def noting(**stream):
            if stream["stream_id"] not in self.streams:
                self.streams[stream["stream_id"]] = torch.cuda.Stream(**stream)
            set_stream(**stream)

        torch._C._cuda_setStream = noting

    def others(self):
        current = self.torch.cuda.current_stream()
        return [stream for stream in self.streams.values() if stream != current]

    def hold(self, event):
        for stream in self.others():
            stream.wait_event(event)

    def join(self):
        """Makes the current stream wait for the others, if there are any."""
        others = self.others()
        if others:
            self.own.record()
        current = self.torch.cuda.current_stream()
        for stream in others:
            current.wait_stream(stream)
        return bool(others)


def outside(ran, sleeper):
    """The names of the kernels that ran between two that pawl has put around them on
    the stream that is timed, and of those that began before the first had ended, or
    ended after the second; of the latter also copies on the device. Others may sleep
    as well, on streams of their own."""
    around = [e for e in ran if sleeper in e.name]
    around = [e for e in around if e.device_resource_id == around[0].device_resource_id]
    if len(around) < 2:
        return [], []  # nothing is known
    ran = [e for e in ran if e is not around[0] and e is not around[-1]]
    begin, end = around[0].time_range.end - CLOCK_JITTER, around[-1].time_range.end + CLOCK_JITTER
    past = [e for e in ran if e.time_range.start < begin or e.time_range.end > end]
    kernels = [e.name for e in ran if not e.name.startswith(("Memcpy ", "Memset "))]
    return list(dict.fromkeys(kernels)), list(dict.fromkeys(e.name for e in past if e.name in kernels or e.name.startswith("Memcpy DtoD")))


def torch_here(load):
    """PyTorch on the GPU if there is one."""
    torch = framework_module("torch")
    return (TorchOnGPU if torch.cuda.is_available() else TorchOnProcessor)(torch, load)


class CuPy(Events, NumPy):
    """CuPy arrays. They are filled and looked at by NumPy: CuPy would compile a
    kernel for every operation, in every cell."""

    name = "cupy"
    chunk = words = CHUNK

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


def blank(framework, dtype, shape):
    """An array that nobody has written to."""
    if framework.in_place:
        return framework.view(framework.empty(math.prod(shape) * SIZE[dtype]), dtype, shape)
    if (dtype, shape) not in framework.blanks:
        framework.blanks[dtype, shape] = framework.array(framework.np.zeros(shape, framework.dtype(dtype)))
    return framework.blanks[dtype, shape]


def odd_type(value, plain):
    return "" if type(value) is plain else f"{type(value).__module__}.{type(value).__qualname__}"


def repeats(shape, strides):
    return "a view that repeats its elements" if any(n > 1 and stride == 0 for n, stride in zip(shape, strides)) else ""


def extent(start, shape, strides, size):
    reach = [(n - 1) * stride for n, stride in zip(shape, strides)]
    return start + sum(r for r in reach if r < 0), start + sum(r for r in reach if r > 0) + size


# Element types by the names that NumPy and PyTorch have for them.
NAMES = {
    "float8_e4m3fn": "e4m3", "float8_e5m2": "e5m2", "float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64",
    "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64",
    "bool": "u8", "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64",
}

# Bits of the whole numbers that a floating-point type holds without a gap, and its
# largest exponent.
PRECISION = {"f64": (53, 1023), "f32": (24, 127), "f16": (11, 15), "bf16": (8, 127), "e4m3": (4, 8), "e5m2": (3, 15)}


def holds(dtype, other):
    """Whether a type holds every value of another."""
    if dtype == other or not dtype:
        return dtype == other
    if dtype in FLOATS and other in FLOATS:
        return PRECISION[dtype][0] >= PRECISION[other][0] and PRECISION[dtype][1] >= PRECISION[other][1]
    if other in FLOATS:
        return False
    bits = 8 * SIZE[other] - (other[0] == "i")
    if dtype in FLOATS:
        return PRECISION[dtype][0] >= bits
    return 8 * SIZE[dtype] - (dtype[0] == "i") >= bits and (dtype[0] == "i" or other[0] == "u")


def is_array(value):
    return hasattr(value, "shape") and hasattr(value, "dtype")


def plain(value):
    """Type, shape and bytes of a number or of any framework's array."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        value = value.detach()
        value = value.to_dense() if value.layout is not torch.strided else value
        value = value.resolve_conj().resolve_neg().contiguous().cpu()
        return str(value.dtype).partition(".")[2], value.shape, ctypes.string_at(value.data_ptr(), value.numel() * value.element_size())
    if isinstance(value, float):
        return "float64", (), struct.pack("<d", value)
    if isinstance(value, int) and not isinstance(value, bool) and -1 << 63 <= value < 1 << 63:
        return "int64", (), struct.pack("<q", value)
    if not is_array(value):
        raise TypeError
    numpy = framework_module("numpy")
    value = numpy.asarray(value.get() if type(value).__module__.partition(".")[0] == "cupy" else value)
    if value.dtype.kind == "f" and value.dtype.itemsize > 8:
        value = value.astype(numpy.float64)
    if value.dtype.byteorder == ">":
        value = value.astype(value.dtype.newbyteorder("<"))
    return value.dtype.name, value.shape, value.tobytes()


class Recorded:
    """A CuPy event with PyTorch's names."""

    def __init__(self, event):
        self.event = event
        self.record, self.synchronize = event.record, event.synchronize

    def query(self):
        return self.event.done


FRAMEWORKS = {"torch": torch_here, "cupy": CuPy, "jax": Jax, "numpy": NumPy}


# ------------------------------------------------------------ the function


class FromSource(importlib.machinery.SourceFileLoader):
    """Loads a module from its text, never from bytecode beside it: that need not be of
    this text, whatever it says, and nobody counts it as the kernel's code."""

    def get_code(self, fullname):
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


class Project:
    """Folders of the kernel's project, from which bytecode is not imported. The
    interpreter's packages keep theirs, wherever they are: without it a framework takes
    seconds longer."""

    def __init__(self):
        self.folders = []
        self.libraries = []
        self.standard = os.path.join(os.path.dirname(os.path.realpath(os.__file__)), "")
        for prefix in {sys.prefix, sys.base_prefix, sys.exec_prefix, os.environ.get("PYTHONUSERBASE", sys.prefix)}:
            for name in ("lib", "lib64"):
                self.libraries.append(os.path.join(os.path.realpath(prefix), name, ""))

    def add(self, folders):
        """Takes folders to import from, and the repository around each: PYTHONPATH may
        name others of it."""
        for folder in map(os.path.realpath, folders):
            root = folder
            while root != os.path.dirname(root) and not os.path.lexists(os.path.join(root, ".git")):
                root = os.path.dirname(root)
            self.folders += [folder, root] if os.path.lexists(os.path.join(root, ".git")) else [folder]
        if self.finder not in sys.path_hooks:
            sys.path_hooks.insert(0, self.finder)
        sys.path_importer_cache.clear()  # of finders that were made before

    def finder(self, path):
        real = os.path.realpath(path)
        if not os.path.isdir(real) or not self.has(real):
            raise ImportError("not of the project", path=path)
        return importlib.machinery.FileFinder(
            path,
            (importlib.machinery.ExtensionFileLoader, importlib.machinery.EXTENSION_SUFFIXES),
            (FromSource, importlib.machinery.SOURCE_SUFFIXES),
        )

    def has(self, real):
        """Reports whether a folder is the project's: libraries in it, as of a virtual
        environment, are not."""
        path = os.path.join(real, "")
        for folder in self.folders:
            folder = os.path.join(folder, "")
            if path.startswith(folder):
                packages = [library for library in self.libraries if "-packages" in real] + [self.standard]
                return not any(library.startswith(folder) and path.startswith(library) for library in packages)
        return False


PROJECT = Project()


def load_function(load, device):
    """Imports the kernel's module from the artifact, under its own name, and
    finds the function."""
    module_name, _, path = load["entry"].partition(":")
    for folder in reversed(load.get("dirs") or []):
        sys.path.insert(0, folder)
    package = module_name.rpartition(".")[0]
    file = os.path.join(os.getcwd(), "module", *module_name.split(".")) + ".py"
    os.makedirs(os.path.dirname(file), exist_ok=True)
    with open(load["path"], "rb") as artifact, open(file, "wb") as copy:
        copy.write(artifact.read())  # Triton and tracebacks read the source again
    if package:
        try:
            importlib.import_module(package)
        except ImportError:
            pass  # a worker elsewhere may have the module alone
    spec = importlib.util.spec_from_file_location(module_name, file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    try:
        spec.loader.exec_module(module)
    except ImportError as error:
        show(error)
        if error.name and error.name.partition(".")[0] not in sys.modules:
            fault = missing(error.name.partition(".")[0])
            fault.body["message"] = f"importing {module_name}: {fault.body['message']}"
            raise fault from None
        raise Fault("unsupported", f"importing {module_name}: {last_line(error)}") from None
    except SyntaxError as error:
        show(error)
        raise Fault("compile", f"{os.path.basename(error.filename or file)}:{error.lineno}: {error.msg}") from None
    except Exception as error:
        show(error)
        raise raised(f"importing {module_name}", error, file, device) from None
    found = module
    for part in path.split("."):
        if not hasattr(found, part):
            names = [name for name in vars(found) if callable(getattr(found, name)) and not name.startswith("_")]
            near = difflib.get_close_matches(part, names, 1)
            hint = f"did you mean {near[0]}?" if near else "it has: " + ", ".join(sorted(names)[:10]) if names else "it defines no function"
            raise Fault("no entry", f"no function {path!r} in {module_name}", hint)
        found = getattr(found, part)
    if not callable(found):
        raise Fault("no entry", f"{path!r} in {module_name} is no function but {type(found).__name__}")
    return found, file


def show(error):
    """Prints a traceback to the log, from the kernel's code on."""
    frames = error.__traceback__
    while frames is not None and (frames.tb_frame.f_globals is globals() or "importlib" in frames.tb_frame.f_code.co_filename):
        frames = frames.tb_next
    traceback.print_exception(type(error), error, frames)


def last_line(error):
    return traceback.format_exception_only(type(error), error)[-1].strip().partition("\n")[0][:500]


def place(error, file):
    """Where in the kernel's module an exception arose, if it did there."""
    line = 0
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.filename == file:
            line = frame.lineno
    return f" ({os.path.basename(file)}, line {line})" if line else ""


def raised(what, error, file, device, hint=""):
    """The fault of an exception. Triton is no framework of arrays, and looks for its
    device when it is first used: that there is none is no mistake of the function's."""
    if not device and "0 active drivers" in str(error):
        return Fault("unsupported", f"Triton finds no GPU: {last_line(error)}", DOCTOR)
    return Fault("crash", f"{what} raised {last_line(error)}{place(error, file)}", hint)


class Buffer:
    """An argument in memory, between red zones. Where arrays cannot be written to,
    the function is given one that is made of it."""

    def __init__(self, framework, number, arg):
        self.framework, self.number, self.arg = framework, number, arg
        self.role, self.dtype = arg.get("role", "in"), arg["dtype"]
        if self.role == "out" or self.role == "scratch" and not arg.get("init"):
            self.init = None  # the function writes it
        else:
            self.init = (arg["init"], arg.get("params") or []) if arg.get("init") else default_fill(self.dtype)
        self.size = arg["count"] * SIZE[self.dtype]
        slack = 0 if framework.device else 2 * RED
        self.base = framework.empty(RED + self.size + RED + slack + 16)
        self.start = RED
        if slack:
            # On a page, and not all on the same place of one: equal offsets alias
            # in the store buffer.
            address = framework.address(self.base) + RED
            self.start = RED + -address % RED + (number * 320) % RED // 64 * 64
        self.data = self.base[self.start:self.start + self.size]
        self.flat = framework.raw(self.data, SIZE[self.dtype])
        self.memory = self.value = framework.view(self.data, self.dtype, arg.get("shape") or [arg["count"]])
        self.pristine = None  # bytes that an inout argument starts every call with
        self.target = self.flat  # what small changes change
        for zone in self.zones():
            zone[:] = RED_BYTE

    def fill(self, key):
        """Gives it the contents of a key, or poison."""
        if self.init is None:
            self.poison()
            return
        framework = self.framework
        fill(framework, self.flat, self.dtype, *self.init, key)
        self.key, self.before, self.after = key, {}, {}
        if not framework.in_place:
            self.value = framework.array(self.memory)
        elif self.role == "inout" and self.pristine is None:
            self.pristine = framework.clone(self.data)
            self.target = framework.raw(self.pristine, SIZE[self.dtype])
        elif self.role == "inout":
            framework.copy(self.pristine, self.data)
        elif self.role == "in":
            self.sum = digest(framework, self.data)

    # small changes, step by step

    def changes(self):
        return self.role in ("in", "inout") and changing(*self.init) is not None

    def plan(self, step, count):
        """Makes the changes of so many steps ready."""
        self.places, self.raw = changes(self.framework, self.arg["count"], self.dtype, *changing(*self.init), self.key, step, step + count)
        self.old = self.target[self.places].tolist()

    def step(self, i):
        part = slice(CHANGES * i, CHANGES * (i + 1))
        self.target[self.places[part]] = self.raw[part]
        if not self.framework.in_place:
            self.value = self.framework.changed(self.value, self.places[part], self.raw[part])

    def stepped(self, count):
        """Notes that so many of the planned steps were taken."""
        if self.role == "in" and self.framework.in_place:
            for place, old, new in list(zip(self.places.tolist(), self.old, self.raw.tolist()))[:CHANGES * count]:
                self.before.setdefault(place, old)
                self.after[place] = new
        self.places = self.raw = self.old = None

    def changed(self):
        """Whether an input no longer holds what it was given."""
        framework = self.framework
        if not framework.in_place:
            seen = framework.look(self.value).reshape(-1).view(self.flat.dtype)
            return not bool((seen == self.flat).all())
        if not self.after:
            return digest(framework, self.data) != self.sum
        # Back to where it began, to be compared with that.
        places, size = framework.integers(list(self.after), 8), SIZE[self.dtype]
        if self.flat[places].tolist() != list(self.after.values()):
            return True
        self.flat[places] = framework.integers([self.before[place] for place in self.after], size)
        same = digest(framework, self.data) == self.sum
        self.flat[places] = framework.integers(list(self.after.values()), size)
        if same and len(self.after) > REMEMBERED:
            # What it holds is known to be right: later looks begin from here.
            self.sum, self.before, self.after = digest(framework, self.data), {}, {}
        return not same

    # what a call must write, and what it must not

    def ready(self):
        if self.pristine is not None:
            self.framework.copy(self.data, self.pristine)
        elif self.role == "out":
            self.poison()

    def warm(self):
        """Brings it into the caches, as calls leave what they have worked on."""
        self.flat.max()

    def poison(self):
        self.flat[:] = poison_of(self.dtype)

    def untouched(self):
        # A few bytes may be poison by chance.
        return self.size >= 8 and self.framework.all_equal(self.flat, poison_of(self.dtype))

    def zones(self):
        end = self.start + self.size
        return self.base[self.start - RED:self.start], self.base[end:end + RED]

    def trespass(self):
        before, after = self.zones()
        name, where = self.arg["name"], ""
        if not self.framework.all_equal(before, RED_BYTE):
            first = self.framework.first_other(before, RED_BYTE)
            where = f"before the start of argument {name} ({RED - first} bytes before it)"
        elif not self.framework.all_equal(after, RED_BYTE):
            first = self.framework.first_other(after, RED_BYTE)
            where = f"past the end of argument {name} (byte {self.size + first} of {self.size})"
        if where:
            before[:] = RED_BYTE
            after[:] = RED_BYTE
            raise Fault("out of bounds", f"the kernel wrote {where}",
                        "check the kernel's index arithmetic, or the argument's shape in pawl.yaml")


def scalar(arg):
    dtype, text = arg["dtype"], arg.get("value", "")
    try:
        if dtype in FLOATS:
            value = float(text)
            return f32(value) if dtype != "f64" else value
        value, bits = int(text), 8 * SIZE[dtype]
        low = -(1 << (bits - 1)) if dtype[0] == "i" else 0
        if not low <= value < low + (1 << bits):
            raise ValueError("out of range")
        return value
    except (ValueError, OverflowError) as error:
        raise Fault("protocol", f"argument {arg['name']}: {dtype} value {text!r}: {error}") from None


def check_buffer(arg):
    name, kind = arg["name"], arg.get("init")
    count, shape = arg.get("count", 0), arg.get("shape")
    if not isinstance(count, int) or not 0 < count <= (1 << 46) // SIZE[arg["dtype"]] or shape and math.prod(shape) != count:
        raise Fault("protocol", f"argument {name}: {count} elements of {arg['dtype']}")
    if kind and (kind not in FILLS or FILLS[kind] != len(arg.get("params") or [])):
        raise Fault("protocol", f"argument {name}: no fill {kind} with {len(arg.get('params') or [])} numbers")
    if kind in ("rows", "outliers", "specials") and not arg["params"][2] >= 1:
        raise Fault("protocol", f"argument {name}: fill {kind} with {arg['params'][2]}")
    if kind in FLOAT_FILLS and arg["dtype"] not in FLOATS:
        raise Fault("protocol", f"argument {name}: no fill {kind} of {arg['dtype']}")


def default_fill(dtype):
    if dtype in FLOATS:
        return "normal", [0, 1]
    return "integers", [-8, 8] if dtype[0] == "i" else [0, 15]


class Parameters:
    """How a function takes its arguments: those it has a parameter of that name
    for by name, the others by position in the order of pawl.yaml. Outputs and
    scratch are passed by name only. A scalar that it has no place for is left
    out: tensors know their sizes."""

    def __init__(self, function):
        self.named, self.places, self.keywords, self.several = set(), 0, False, True
        try:
            parameters = inspect.signature(function).parameters.values()
        except (ValueError, TypeError):
            return  # written in C: all by position
        self.several = False
        kinds = inspect.Parameter
        for p in parameters:
            if p.kind in (kinds.POSITIONAL_OR_KEYWORD, kinds.KEYWORD_ONLY):
                self.named.add(p.name)
            self.several |= p.kind == kinds.VAR_POSITIONAL
            self.keywords |= p.kind == kinds.VAR_KEYWORD
        self.ordered = [p for p in parameters if p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)]

    def free(self, by_name):
        """How many arguments can be given by position beside those by name."""
        if self.several:
            return math.inf
        count = 0
        for p in self.ordered:
            if p.name in by_name and p.kind != inspect.Parameter.POSITIONAL_ONLY:
                break
            count += 1
        return count


# ---------------------------------------------------------------- the cell


class Seal:
    """What functions the cell works with, taken down before any of the kernel's
    code runs: whoever replaces one wants other numbers than there are."""

    def __init__(self, framework, *objects):
        own = [value for value in globals().values() if getattr(value, "__module__", None) == __name__]
        self.places = [(__name__, globals(), name) for name, value in globals().items() if callable(value) or isinstance(value, type(sys))]
        self.places += [(c.__qualname__, c, name) for c in own if isinstance(c, type) for name, v in vars(c).items() if callable(v)]
        self.objects = [framework, *objects]
        self.hiding = [set(self.hides(thing)) for thing in self.objects]
        self.places += [("the framework", vars(framework), name) for name, value in vars(framework).items() if isinstance(value, type(sys))]
        clocks = ("perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns")
        self.places += [("time", time, name) for name in clocks if hasattr(time, name)]
        self.places += [place for place in framework.relied_on() if self.at(place) is not None]
        self.kept = [self.at(place) for place in self.places]

    @staticmethod
    def at(place):
        _, owner, name = place
        value = owner.get(name) if isinstance(owner, dict) else vars(owner).get(name)
        return value if value is None else (value, getattr(value, "__code__", None))

    def check(self):
        for place, kept in zip(self.places, self.kept):
            found = self.at(place)
            if found is None or found[0] is not kept[0] or found[1] is not kept[1]:
                accuse(f"{place[0]}.{place[2]} is not what it was before the kernel's module was imported")
        for thing, before in zip(self.objects, self.hiding):
            for name in self.hides(thing):
                if name not in before:
                    accuse(f"{type(thing).__name__}.{name} is hidden by another function")

    @staticmethod
    def hides(thing):
        """Names that an object has and that are functions of its class."""
        return [name for name in vars(thing) if any(callable(vars(c).get(name)) for c in type(thing).__mro__)]


class Ledger:
    """What samples took, with a digest of it: a list is easily changed afterwards."""

    def __init__(self):
        self.seconds, self.digest = [], hashlib.blake2b()

    def add(self, seconds):
        self.seconds.append(seconds)
        self.digest.update(struct.pack("<d", seconds))

    def close(self):
        again = hashlib.blake2b(b"".join(struct.pack("<d", s) for s in self.seconds))
        if again.digest() != self.digest.digest():
            accuse("what samples took was changed after they were taken")
        return self.seconds


class Cell:
    def __init__(self):
        self.framework = self.function = self.call = None
        self.reference = False

    def load(self, m):
        name = m.get("framework") or "numpy"
        if name not in FRAMEWORKS:
            raise Fault("protocol", f"no framework {name!r}")
        if ":" not in (m.get("entry") or ""):
            raise Fault("protocol", f"{m.get('entry')!r} names no function")
        PROJECT.add(m.get("dirs") or [])
        try:
            self.framework = FRAMEWORKS[name](m)
        except Fault:
            raise
        except Exception as error:
            show(error)
            raise Fault("unsupported", f"{name} does not start: {last_line(error)}", DOCTOR) from None
        on_device = self.framework.device  # before the kernel's module can say otherwise
        self.seal = Seal(self.framework, self)
        self.function, self.file = load_function(m, on_device)
        self.framework.loaded()
        self.parameters = Parameters(self.function)
        self.params = m.get("params") or {}
        for param in self.params:
            if not (param in self.parameters.named or self.parameters.keywords or self.parameters.several):
                raise Fault("no entry", f"{m['entry']} has no parameter {param}",
                            "params of pawl.yaml are given as keyword arguments")
        runtime = f"Python {platform.python_version()}, {self.framework.runtime()}"
        return {"flush": self.framework.flush_name, "runtime": runtime, "on_device": on_device}

    def prepare(self, m):
        if self.function is None:
            raise Fault("protocol", "prepare before load")
        framework, self.call = self.framework, None
        self.reference = m.get("reference", False)
        self.buffers, self.spare, self.returned, self.result, self.seen = [], [], [], None, []
        self.staged = None  # the batch that the spare arrays hold and no call has worked on
        self.seed, self.batch, self.steps = m.get("seed", 0), None, 0
        framework.spans = []
        self.threads = m.get("threads", 1)
        framework.prepare(self.seed, self.threads)
        call = self.bind(m)
        self.refresh(m.get("batch", 0), 0)
        if m.get("spare") and framework.in_place and not framework.device and sum(b.size for b in self.buffers) <= SPARE_MOST:
            self.spare = [Buffer(framework, b.number, b.arg) for b in self.buffers]
            for b, twin in zip(self.buffers, self.spare):
                twin.slot = b.slot
            self.fill(self.spare, self.batch)
        reply = {"buffers": [
            {"name": b.arg["name"], "start": framework.address(b.base) + b.start, "bytes": b.size}
            for b in self.buffers + self.spare if framework.in_place
        ]}
        if m.get("cores") and not framework.device:
            try:
                os.sched_setaffinity(0, m["cores"])
                reply["pinned"] = m["cores"]
            except OSError:
                pass
        framework.synchronize()
        # What is there now stays: later collections need not look at it.
        gc.unfreeze()  # what was there before is not kept for ever
        gc.collect()
        gc.freeze()
        self.settled, self.call = 0, call
        return reply

    def bind(self, m):
        """Makes the arguments, decides how each is passed, and returns the call."""
        args = self.args = m.get("args") or []
        for arg in args:
            if arg.get("dtype") not in SIZE:
                raise Fault("protocol", f"argument {arg.get('name')}: no element type {arg.get('dtype')!r}")
            if arg.get("buffer"):
                check_buffer(arg)
        by_name = set(self.params) | {a["name"] for a in args if a["name"] in self.parameters.named}
        free = self.parameters.free(by_name)
        positional, keywords = [], dict(self.params)
        for number, arg in enumerate(args):
            name, role, buffer = arg["name"], arg.get("role", "in"), None
            if arg.get("buffer"):
                in_place = self.framework.in_place
                taken = in_place and name in self.parameters.named
                if role == "out" and not taken or role == "inout" and not in_place:
                    self.returned.append((number, arg))
                if role in ("out", "scratch") and not taken:
                    continue
                buffer = self.argument(number, arg)
            value = buffer.value if buffer else scalar(arg)
            if name in self.parameters.named:
                keywords[name], slot = value, (keywords, name)
            elif len(positional) < free:
                positional.append(value)
                slot = positional, len(positional) - 1
            elif self.parameters.keywords and (buffer or not self.parameters.named):
                keywords[name], slot = value, (keywords, name)
            elif buffer:
                raise Fault("no entry", f"{self.subject()} has no parameter for argument {name}",
                            f"add a parameter {name}: the arguments are given by name, or by position in the order of pawl.yaml")
            if buffer:
                buffer.slot = slot
        function = self.function
        return lambda: function(*positional, **keywords)

    def argument(self, number, arg):
        self.buffers.append(Buffer(self.framework, number, arg))
        return self.buffers[-1]

    # contents

    def refresh(self, batch, steps):
        """Brings the arguments to a batch's contents and so many steps further, at
        the same addresses."""
        if (batch, steps) == (self.batch, self.steps):
            return
        self.batch = None
        self.fill(self.buffers, batch)
        for b in self.buffers:
            if steps and b.changes():
                b.plan(1, steps)
                for i in range(steps):
                    b.step(i)
                b.stepped(steps)
        self.batch, self.steps = batch, steps
        self.hand()

    def fill(self, buffers, batch):
        for b in buffers:
            number = (b.arg.get("draws") or b.number + 1) - 1
            b.fill(key_of(self.seed, number, batch))

    def stage(self, batch):
        """Has the data of another batch ready, where there are spare arrays."""
        if self.spare and self.staged != batch:
            self.staged = None
            self.fill(self.spare, batch)
            self.staged = batch

    def turn_fresh(self, batch, hot):
        """Has calls work on the data of another batch from now on: in other arrays,
        where there are spare ones."""
        if self.spare:
            self.staged = None
            self.buffers, self.spare = self.spare, self.buffers
            for b in self.buffers if hot else []:
                b.warm()
        else:
            self.check_arguments()
            self.fill(self.buffers, batch)
        self.batch, self.steps = batch, 0
        self.hand()

    def hand(self):
        """Passes on arrays that were made anew."""
        for b in self.buffers:
            container, key = b.slot
            container[key] = b.value
        if not self.framework.device:
            self.framework.spans = [self.framework.extent(b.value) for b in self.buffers]

    def ready(self):
        """Brings the arguments into the state every sample starts from. What was
        returned is poisoned: it would be right if it came back, as memory that was
        not written to or out of a cache."""
        self.release()
        for b in self.buffers:
            b.ready()

    def release(self):
        """Lets go of what the last call returned. The kernel may be told of that
        (weakref), which must not be while data is there that no call has worked on."""
        for arg, value in self.seen:
            self.framework.spoil(value, arg["dtype"])
        self.result, self.seen = None, []

    # calls

    def once(self):
        """The call of a sample. Its result lives until the next."""
        self.result = self.call()
        return self.result

    def finished(self):
        """Waits for all that the last call began, on any stream."""
        if not self.framework.in_place:
            self.framework.jax.block_until_ready(self.result)
        self.framework.synchronize()

    def settle(self, repeat):
        """The first calls, which compile, allocate and look at what comes back."""
        if not self.settled:
            self.ready()
            self.once()
            self.finished()
            self.results()
            for b in self.buffers:
                if b.role == "out" and b.untouched():
                    raise Fault("no effect", f"the function wrote nothing to its output {b.arg['name']}",
                                "a parameter of an output's name is to be written to; without one the returned value is taken")
            for _ in range(2):
                self.ready()
                self.once()
            self.framework.synchronize()
        if self.settled != repeat:
            self.overhead = self.framework.settle(self.once, repeat, self.ready)
            self.settled = repeat

    def results(self):
        """What the last call returned: looked at, and by argument."""
        if not self.returned:
            return {}
        result, names = self.result, ", ".join(arg["name"] for _, arg in self.returned)
        if result is None:
            raise Fault("output", f"the function returned nothing, and has no parameter {names}",
                        "return the output, or take a parameter of its name and write to it")
        values = [result] if len(self.returned) == 1 else plainly(result)
        if values is None or len(values) != len(self.returned):
            raise Fault("output", f"the function must return {len(self.returned)} outputs ({names}), and returned {type(result).__name__}")
        self.seen = []
        for (_, arg), value in zip(self.returned, values):
            if self.check_result(arg, value):
                self.seen.append((arg, value))
        return {number: value for (number, _), value in zip(self.returned, values)}

    def touch(self):
        """Reads the inputs where nothing is called: a call would have brought them into
        the caches, and what follows it takes longer then."""
        for b in self.buffers:
            if b.role == "in":
                b.data[::64].max()

    def pretend(self):
        """Memory like that which a call returns. To look at it and to poison it may
        take longer than the call, and is no part of what that takes."""
        made = [blank(self.framework, arg["dtype"], tuple(arg.get("shape") or [arg["count"]])) for _, arg in self.returned]
        self.result = made[0] if len(made) == 1 else made

    def check_result(self, arg, value):
        """Whether an output is apart from all arguments."""
        framework, name = self.framework, arg["name"]
        want = tuple(arg.get("shape") or [arg["count"]]), framework.dtype(arg["dtype"])
        got = framework.describe(value)
        if got is None:
            raise Fault("output", f"output {name} must be an array of {framework.name}, and is {describe(value)}")
        odd = framework.odd(value)
        if odd:
            raise Fault("output", f"output {name} must be a plain array of {framework.name}, and is {odd}",
                        "what is measured must have computed all elements when it returns")
        if got != want:
            raise Fault("output", f"output {name} must be {list(want[0])} of {want[1]}, and is {list(got[0])} of {got[1]}",
                        "shape and dtype of the output in pawl.yaml, or what the function returns")
        low, high = framework.extent(value)
        shared = [b for b in self.buffers for start, end in [framework.extent(b.value)] if low < end and start < high]
        for b in shared:
            if b.role == "in":
                raise Fault("output", f"output {name} lies in the memory of input {b.arg['name']}",
                            "return an array of its own, or give the input role: inout")
        return not shared

    def check_arguments(self, left=None):
        """Looks for writes outside the buffers, and to inputs; also in those that were
        left for others."""
        used = self.buffers + (left or [])
        for b in used:
            b.trespass()
        for b in used:
            if b.role == "in" and b.changed():
                self.batch = None  # it needs its contents again
                if self.reference:
                    raise Fault("output", f"{self.subject()} changed its input {b.arg['name']}",
                                "an oracle only reads the kernel's inputs: compute a new array, or work on a copy")
                raise Fault("output", f"the kernel changed its input {b.arg['name']}",
                            "an argument that a kernel writes has role: out or inout in pawl.yaml")

    def outputs(self):
        """The bytes of all outputs, by argument."""
        found = {b.number: b.value for b in self.buffers if b.role in ("out", "inout")}
        found.update(self.results())
        return {number: self.framework.tobytes(found[number]) for number in sorted(found)}

    # what a reference answers: nobody times it, so that it may return what is natural

    def answers(self):
        """The types and bytes of a reference's answers, by argument, and which of them it
        returned. What it returns counts; an argument that it returns nothing for was written in place."""
        outputs = {n: arg for n, arg in enumerate(self.args) if arg.get("buffer") and arg.get("role") in ("out", "inout")}
        written = {b.number: b for b in self.buffers if b.number in outputs and self.framework.in_place}
        given = self.given(outputs, written)
        found = {}
        for number, arg in outputs.items():
            if number in given:
                found[number] = self.answer(arg, given[number])
            else:
                found[number] = arg["dtype"], self.framework.tobytes(written[number].value)
        return found, set(given)

    def given(self, outputs, written):
        """What was returned for which argument. A list or tuple has all outputs, or
        those that the function has no parameter for; a dict has names."""
        result, needed = self.result, [n for n in outputs if n not in written]
        if isinstance(result, dict):
            numbers = {arg["name"]: n for n, arg in outputs.items()}
            given = {numbers.get(name, name): value for name, value in result.items() if value is not None}
            if all(n in outputs for n in given) and all(n in given for n in needed):
                return given
            raise self.miscounted("a dict of " + (", ".join(map(str, result)) or "nothing"), outputs, needed)
        values = [] if result is None else list(result) if isinstance(result, (list, tuple)) else [result]
        if not needed and not any(is_array(value) for value in values):
            return {}  # all was written in place, and this says how it went
        for numbers in (list(outputs), needed):
            if len(values) == len(numbers):
                given = {n: value for n, value in zip(numbers, values) if value is not None}
                if all(n in given for n in needed):
                    return given
        if not needed and all(any(value is b.value for b in written.values()) for value in values):
            return {}  # some of the arguments themselves
        if values and not any(is_array(value) for value in values):
            text = f"a {type(result).__name__}" + (f" of {len(values)} {type(values[0]).__name__}" if isinstance(result, (list, tuple)) else "")
            raise self.miscounted(text, outputs, needed, ARRAYS)
        text = "nothing" if result is None else "1 array" if len(values) == 1 else f"{len(values)} arrays"
        raise self.miscounted(text, outputs, needed)

    def miscounted(self, returned, outputs, needed, hint="return a tuple in this order, or a dict by these names"):
        names = [f"{arg['name']} ({arg['role']})" for arg in outputs.values()]
        text = f"{self.place()} returned {returned}; expected {len(names)}: {', '.join(names)}"
        if not needed:
            text += ", or nothing if it writes to these"
        elif len(needed) < len(names):
            text += f"; or {len(needed)}: {', '.join(outputs[n]['name'] for n in needed)}, if it writes to the others"
        return Fault("output", text, hint)

    def subject(self):
        """Who an error is about: an oracle with its place, which no row has."""
        return self.place() if self.reference else "the function"

    def place(self):
        """Where the function stands, and its name."""
        code = getattr(inspect.unwrap(self.function), "__code__", None)
        name = getattr(self.function, "__name__", type(self.function).__name__)
        return f"{os.path.basename(self.file)}:{code.co_firstlineno}: {name}" if code else name

    def answer(self, arg, value):
        """An answer's type and bytes. Its type must hold every value that the kernel's
        has: a wider one is compared as it is."""
        name, want = arg["name"], arg["dtype"]
        try:
            dtype, shape, raw = plain(value)
        except (TypeError, ValueError):
            raise Fault("output", f"{self.place()} must return an array for {name}, and returned {describe(value)}", ARRAYS) from None
        if [n for n in shape if n != 1] != [n for n in arg.get("shape") or [arg["count"]] if n != 1]:
            raise Fault("output", f"{self.place()} returned {name} with shape {list(shape)}; expected {list(arg.get('shape') or [arg['count']])}",
                        "shape of the output in pawl.yaml, or what the function returns")
        if not holds(NAMES.get(dtype, ""), want):
            wider = [t for t in NAMES.values() if holds(t, want)]
            raise Fault("output", f"{self.place()} returned {name} as {dtype}, which does not hold every {want}",
                        "return " + " or ".join(wider))
        return NAMES[dtype], raw

    # operations

    def sample(self, m):
        if self.call is None:
            raise Fault("protocol", "launch before prepare")
        count, repeat, step = m.get("count", 0), m.get("repeat", 0), m.get("step", 0)
        if not 1 <= count <= MAX_FRAME // 16 or repeat < 1:
            raise Fault("protocol", f"{count} samples of {repeat} launches")
        self.release()
        if self.staged is None:
            gc.collect()  # never while there is new data, which gc.callbacks could work on
        gc.disable()
        try:
            return self.taken(m, count, repeat, step)
        finally:
            gc.enable()

    def taken(self, m, count, repeat, step):
        """The samples of a request."""
        batch, framework = m.get("batch", 0), self.framework
        self.refresh(batch, step - 1 if step else self.steps if batch == self.batch else 0)
        framework.begin()
        framework.unhidden = False
        self.settle(repeat)
        framework.unhidden = m.get("unhidden", False)
        forgets = 0 if framework.device else m.get("forget_bytes", 0)
        forgot = forgets > 0

        probe, probed = m.get("probe", 0) if m.get("cache") == "cold" and not framework.device else 0, None

        def ready():
            nonlocal forgot, probed
            self.ready()
            forgot = forgot and framework.forget(forgets, self.threads)
            if taken == probe:
                probed = framework.probe([framework.extent(b.value) for b in self.buffers])

        fresh, fresh_batch, turned = m.get("fresh", 0), m.get("fresh_batch", 0), 0
        if fresh_batch:
            self.stage(fresh_batch)
        changing = [b for b in self.buffers if step and b.changes()]
        for b in changing:
            b.plan(step, count)
        for b in self.spare if fresh else []:
            if step and b.changes():
                b.plan(1, count)
        cold, most, keep = m.get("cache") == "cold", m.get("max_s") or math.inf, m.get("keep", 0)
        ledger, taken, kept = Ledger(), 0, {}
        dry = m.get("dry", False)
        call = self.once
        if dry:
            call = (lambda: None) if framework.device else self.touch
        begin = time.monotonic()
        try:
            for i in range(count):
                taken = i + 1
                self.release()
                if taken == fresh:
                    for b in changing:
                        b.stepped(i)
                    self.turn_fresh(fresh_batch, m.get("cache") == "hot")
                    changing, turned = [b for b in self.buffers if step and b.changes()], i
                    if not self.spare:
                        for b in changing:
                            b.plan(1, count - i)
                for b in changing:
                    b.step(i - turned)
                if changing and not framework.in_place:
                    self.hand()
                ledger.add(framework.once(call, repeat, cold, ready) / repeat)
                if dry:
                    self.pretend()
                self.results()
                if taken == keep:
                    kept = self.outputs()
                if gc.get_count()[0] > GARBAGE:
                    gc.collect(0)  # calls may leave cycles behind, and requests have thousands of calls
                if time.monotonic() - begin > most:
                    break
        finally:
            for b in changing:
                b.stepped(taken - turned)
            self.steps += taken - turned if step else 0
        seconds, doubts = framework.finish(ledger.close(), repeat)
        self.seal.check()
        self.check_arguments(self.spare if 0 < fresh <= taken else None)
        reply = {"count": len(seconds), "overhead_s": self.overhead, "forgot": forgot, **doubts}
        if 0 < fresh <= taken:
            reply["fresh"] = fresh
        if probed:
            reply["flushed_s"], reply["cold_s"] = probed
        if kept:
            reply["kept"] = leave(m.get("outputs"), kept)
        return reply, b"".join(struct.pack("<dd", s, 0.0) for s in seconds)

    def run(self, m):
        if self.call is None:
            raise Fault("protocol", "launch before prepare")
        self.ready()
        self.framework.synchronize()
        start = time.perf_counter()
        for _ in range(m.get("launches", 1)):
            self.once()
        self.finished()
        elapsed = time.perf_counter() - start
        for b in self.buffers:
            b.trespass()  # inputs are hashed with the next request: the worker times this one
        return {"cell_s": elapsed}

    def produce(self, m):
        """One call outside any sample, and what it wrote."""
        if self.call is None:
            raise Fault("protocol", "launch before prepare")
        self.refresh(m.get("batch", 0), m.get("steps", 0))
        for b in self.buffers:
            if b.init is None:
                b.poison()
        self.ready()
        self.framework.synchronize()
        self.once()
        self.finished()
        types = {}
        if self.reference:
            answers, returned = self.answers()
            found = {number: raw for number, (_, raw) in answers.items()}
            types = {number: dtype for number, (dtype, _) in answers.items()}
        else:
            found = self.outputs()
        self.seal.check()
        self.check_arguments()
        reply = {"outputs": leave(m.get("outputs"), found)}
        for output in reply["outputs"]:
            if output["arg"] in types:
                output["dtype"] = types[output["arg"]]
                if output["arg"] in returned:
                    output["returned"] = True
        if m.get("trace"):
            self.ready()
            try:
                reply["kernels"], reply["outside"] = self.framework.trace(self.once)
            except Exception as error:
                show(error)  # the outputs are there all the same
        return reply

    def guarded(self, operation, m):
        """Runs an operation and gives what the kernel raises its name."""
        try:
            return operation(m)
        except Fault:
            raise
        except SystemExit as error:
            flush_output()
            if self.reference:
                raise Fault("exit", f"{self.place()} raised {last_line(error)}{place(error, self.file)}",
                            "an oracle must return its answer; an exception says that it has none") from None
            code = error.code if isinstance(error.code, int) else 0 if error.code is None else 1
            os._exit(code)
        except ImportError as error:
            show(error)
            raise missing(error.name or "") if error.name else Fault("unsupported", last_line(error)) from None
        except NotImplementedError as error:
            if not str(error):
                show(error)
            raise Fault("unsupported", str(error) or "the function does not support this problem") from None
        except Exception as error:
            show(error)
            kind = type(error).__name__
            if isinstance(error, MemoryError) or kind in ("OutOfMemoryError", "CUDAOutOfMemoryError"):
                raise Fault("memory", last_line(error), "choose a smaller config, or a device with more memory") from None
            raise raised(self.subject(), error, getattr(self, "file", ""), getattr(self.framework, "device", False), self.called()) from None

    def called(self):
        """What an oracle is called with: it is seldom tried on exactly that."""
        if not self.reference:
            return ""
        shapes = [f"{b.arg['name']} {b.dtype}{list(b.arg.get('shape') or [b.arg['count']])}" for b in self.buffers]
        return f"the oracle is called with arrays of {self.framework.name}: " + ", ".join(shapes)


ARRAYS = "return an array for each output, or a number for one of one element; np.array(…) makes an array of a list"


def describe(value):
    shape, device = getattr(value, "shape", None), getattr(value, "device", "")
    if shape is None:
        return type(value).__name__
    return f"{type(value).__module__}.{type(value).__name__} of shape {list(shape)}" + (f" on {device}" if device else "")


def plainly(result):
    """The items of a tuple or list, as they lie there: methods of a class of its own could
    compute them now, when no clock runs."""
    for kind in (tuple, list):
        if issubclass(type(result), kind):
            return list(kind.__iter__(result))
    return None


def leave(folder, outputs):
    """Writes outputs where the worker will take them from."""
    for number, data in outputs.items():
        with open(os.path.join(folder, f"{number}.bin"), "wb") as file:
            file.write(data)
    return [{"arg": number, "path": f"{number}.bin"} for number in outputs]


def flush_output():
    """Brings what the kernel printed into the log: a cell is ended by a signal."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            pass
    LIBC.fflush(None)


LIBC = ctypes.CDLL(None)


def main():
    for descriptor in (REQUESTS, REPLIES):
        os.set_inheritable(descriptor, False)
    sys.path.pop(0)  # this file's folder, which is no place to import from
    sys.dont_write_bytecode = True
    faulthandler.enable(all_threads=False)
    send(0, "hello", {"protocol": "1.4", "cell": "python", "pid": os.getpid()})
    incoming = queue.SimpleQueue()
    threading.Thread(target=receive, args=(incoming,), daemon=True).start()
    cell = Cell()
    while True:
        frame = incoming.get()
        op, request, body, blob = frame["op"], frame.get("body") or {}, None, None
        try:
            if op == "ping":
                pass
            elif op == "load":
                body = cell.guarded(cell.load, request)
            elif op == "prepare":
                body = cell.guarded(cell.prepare, request)
            elif op == "sample":
                with inference(cell):
                    body, blob = cell.guarded(cell.sample, request)
            elif op == "run":
                with inference(cell):
                    body = cell.guarded(cell.run, request)
            elif op == "produce":
                with inference(cell):
                    body = cell.guarded(cell.produce, request)
            else:
                raise Fault("protocol", f"a cell has no operation {op!r}")
        except Fault as fault:
            flush_output()
            send(frame["id"], "error", fault.body)
            continue
        flush_output()
        send(frame["id"], "ok", body, blob)


class inference:
    """PyTorch's inference mode around calls, not around the making of arguments,
    so that a function that needs gradients can still turn them on."""

    def __init__(self, cell):
        torch = getattr(cell.framework, "torch", None)
        self.mode = torch.inference_mode() if torch else None

    def __enter__(self):
        if self.mode:
            self.mode.__enter__()

    def __exit__(self, *error):
        if self.mode:
            self.mode.__exit__(*error)


if __name__ == "__main__":
    main()
