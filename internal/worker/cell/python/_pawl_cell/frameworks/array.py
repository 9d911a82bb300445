"""What the frameworks' arrays have in common."""

import ctypes
import importlib
import math
import struct
import sys

from ..dtype import SIZE
from ..fault import Fault, last_line, missing


def framework_module(name):
    try:
        return importlib.import_module(name)
    except ImportError as error:
        if error.name and error.name.partition(".")[0] != name:
            raise Fault("unsupported", f"importing {name}: {last_line(error)}") from None
        raise missing(name) from None


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
