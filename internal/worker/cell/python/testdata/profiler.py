"""Checks what a profiler sees of a function's calls: those that are asked for, and nothing else."""

import ctypes
import os
import sys

sys.dont_write_bytecode = True
here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, ".."))

from _pawl_cell import profiler
from _pawl_cell.cell import Cell
from _pawl_cell.fault import Fault

log = []


class Driver:
    """A driver that another thread has made its context in."""

    context = False

    def cuProfilerStart(self):
        log.append("start" if self.context else "no context")
        return 0 if self.context else 201

    def cuDevicePrimaryCtxRetain(self, context, device):
        return 0

    def cuCtxSetCurrent(self, context):
        Driver.context = True
        return 0

    def cuProfilerStop(self):
        log.append("stop")
        return 0


class Framework:
    in_place, device, name = True, True, "fake"

    def synchronize(self):
        log.append("wait")


class Profiled(Cell):
    def __init__(self):
        super().__init__()
        self.framework, self.buffers = Framework(), []
        self.call = lambda: log.append("call")

    def ready(self):
        log.append("ready")

    def check_seal(self):
        log.append("seal")

    def check_arguments(self, other=None):
        log.append("arguments")


ctypes.CDLL = lambda name: Driver()
cell = Profiled()
reply = cell.profile({"repeats": 2})
assert reply == {"launches": -1}, reply
warm = ["ready", "call", "wait"] * 3
want = warm + ["ready", "wait", "no context", "start", "call", "wait", "stop"] + ["ready", "wait", "start", "call", "wait", "stop"] + ["seal", "arguments"]
assert log == want, log


def refused(m, cause):
    try:
        cell.profile(m)
    except Fault as fault:
        assert fault.body["cause"] == cause, fault.body
    else:
        raise AssertionError(f"{m} was taken")


refused({"repeats": 0}, "protocol")
refused({"repeats": 1001}, "protocol")
Framework.device = False
refused({"repeats": 1}, "unsupported")
cell.call = None
refused({"repeats": 1}, "protocol")
