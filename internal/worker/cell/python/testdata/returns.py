"""Checks that nothing of a kernel's own runs when its answers are taken apart."""

import collections
import importlib.util
import os
import sys

sys.dont_write_bytecode = True
here = os.path.dirname(os.path.abspath(__file__))
spec = importlib.util.spec_from_file_location("cell", os.path.join(here, "..", "cell.py"))
cell = importlib.util.module_from_spec(spec)
spec.loader.exec_module(cell)


def late(*_):
    raise AssertionError("it was asked")


class LateTuple(tuple):
    __len__ = __iter__ = __getitem__ = late


class LateList(list):
    __len__ = __iter__ = __getitem__ = late


class Other:
    __class__ = tuple
    __len__ = __iter__ = late


Named = collections.namedtuple("Named", "values indices")

assert cell.plainly((1, 2)) == [1, 2]
assert cell.plainly([1, 2]) == [1, 2]
assert cell.plainly(Named(1, 2)) == [1, 2]
assert cell.plainly(LateTuple((1, 2))) == [1, 2]
assert cell.plainly(LateList((1, 2))) == [1, 2]
assert cell.plainly(Other()) is None
assert cell.plainly(3) is None
