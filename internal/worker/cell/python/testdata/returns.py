"""Checks that nothing of a kernel's own runs when its answers are taken apart."""

import collections
import os
import sys

sys.dont_write_bytecode = True
here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, ".."))

from _pawl_cell.outputs import plainly


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

assert plainly((1, 2)) == [1, 2]
assert plainly([1, 2]) == [1, 2]
assert plainly(Named(1, 2)) == [1, 2]
assert plainly(LateTuple((1, 2))) == [1, 2]
assert plainly(LateList((1, 2))) == [1, 2]
assert plainly(Other()) is None
assert plainly(3) is None
