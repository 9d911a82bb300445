"""Checks how the cell passes arguments to functions of all shapes."""

import functools
import os
import sys

sys.dont_write_bytecode = True
here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, ".."))

from _pawl_cell.arguments import Parameters, scalar
from _pawl_cell.cell import Cell
from _pawl_cell.fault import Fault
from _pawl_cell.generator import f32


class Plain:
    """A framework whose buffers are their names."""

    in_place, device = True, False


class Binding(Cell):
    def __init__(self, function, params):
        super().__init__()
        self.framework, self.function, self.params = Plain(), function, params
        self.parameters = Parameters(function)
        self.buffers, self.returned = [], []

    def argument(self, number, arg):
        return Named(arg["name"].upper())


class Named:
    def __init__(self, value):
        self.value = value


ARGS = [
    {"name": "x", "dtype": "f32", "buffer": True, "count": 4},
    {"name": "y", "dtype": "f32", "buffer": True, "count": 4, "role": "inout"},
    {"name": "out", "dtype": "f32", "buffer": True, "count": 4, "role": "out"},
    {"name": "tmp", "dtype": "f32", "buffer": True, "count": 4, "role": "scratch"},
    {"name": "n", "dtype": "i32", "value": "7"},
    {"name": "s", "dtype": "f32", "value": "0.5"},
]


def check(function, want, returned=(), **params):
    binding = Binding(function, params)
    got = binding.bind({"args": ARGS})()
    names = tuple(arg["name"] for _, arg in binding.returned)
    assert got == want and names == tuple(returned), (got, want, names, returned)


check(lambda x, y, n, s: (x, y, n, s), ("X", "Y", 7, 0.5), ["out"])
check(lambda a, b, c, d: (a, b, c, d), ("X", "Y", 7, 0.5), ["out"])
check(lambda s, n, y, x: (s, n, y, x), (0.5, 7, "Y", "X"), ["out"])  # by name, whatever the order
check(lambda a, y, out, n, s: (a, y, out, n, s), ("X", "Y", "OUT", 7, 0.5))
check(lambda x, y, *, out, tmp: (x, y, out, tmp), ("X", "Y", "OUT", "TMP"))
check(lambda x, y: (x, y), ("X", "Y"), ["out"])  # sizes are left out
check(lambda a, b, /: (a, b), ("X", "Y"), ["out"])
check(lambda *all: all, ("X", "Y", 7, 0.5), ["out"])
check(lambda x, y, **more: (x, y, more), ("X", "Y", {"BLOCK": 64}), ["out"], BLOCK=64)
check(lambda x, y, BLOCK=1: (x, y, BLOCK), ("X", "Y", 32), ["out"], BLOCK=32)

try:
    check(lambda x: x, "X", ["out"])
    raise AssertionError("a buffer was left out")
except Fault as fault:
    assert fault.body["cause"] == "no entry" and "argument y" in fault.body["message"], fault.body

try:
    check(lambda x, y, window, BLOCK: x, "X", ["out"], BLOCK=64)
    raise AssertionError("a parameter was left out")
except Fault as fault:
    assert fault.body["cause"] == "no entry", fault.body
    assert "the function takes (x, y, window, BLOCK), and pawl.yaml has x, y, n, s, BLOCK" in fault.body["message"], fault.body


def supplied(function):
    return functools.wraps(function)(lambda *all, **named: function(*all, window=3, **named))


check(supplied(lambda x, y, window: (x, y, window)), ("X", "Y", 3), ["out"])  # a decorator may have it

for bad, text in (("i8", "300"), ("u8", "-1"), ("i32", "1.5"), ("f32", "x")):
    try:
        scalar({"name": "n", "dtype": bad, "value": text})
        raise AssertionError(f"{bad} {text} was taken")
    except Fault as fault:
        assert fault.body["cause"] == "protocol"
assert scalar({"name": "n", "dtype": "u64", "value": str(2**64 - 1)}) == 2**64 - 1
assert scalar({"name": "n", "dtype": "f32", "value": "0.1"}) == f32(0.1)
