"""The conformance suite's kernel for python cells: honest in mode 0."""

import ctypes
import sys

import numpy


def conformance(data, out, n, factor, mode):
    numpy.multiply(data, numpy.float32(factor), out=out)
    if mode == 1:
        while True:
            pass
    if mode == 2:
        ctypes.c_float.from_address(out.ctypes.data + out.itemsize * n).value = 1
    if mode == 3:
        ctypes.c_float.from_address(0).value = 1
    if mode == 4:
        sys.exit(5)
    if mode == 5:
        print("printed by the kernel")
