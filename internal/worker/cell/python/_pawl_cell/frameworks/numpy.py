"""NumPy."""

import importlib
import random

from ..clock import Wall
from ..dtype import FLOATS, SIZE
from ..fault import Fault
from ..generator import narrow, poison_of
from .array import extent, framework_module, odd_type, repeats


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

    def drawn(self, target):
        """Where the generator stores what an argument is to hold."""
        return target

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
