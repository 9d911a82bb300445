"""Checks what the cell notices of functions that were replaced, and what not."""

import importlib.util
import os
import sys
import time

sys.dont_write_bytecode = True
here = os.path.dirname(os.path.abspath(__file__))
spec = importlib.util.spec_from_file_location("cell", os.path.join(here, "..", "cell.py"))
cell = importlib.util.module_from_spec(spec)
sys.modules["cell"] = cell
spec.loader.exec_module(cell)


class Framework(cell.Wall):
    def __init__(self):
        self.lock = object()
        self.flush_name = "none"
        self.finish = len  # its own, from the beginning

    def once(self):
        return 1

    def finish(self):
        return 2


def fresh():
    framework, work = Framework(), cell.Cell()
    return framework, work, cell.Seal(framework, work)


def accused(change, undo=lambda: None):
    framework, work, seal = fresh()
    change(framework, work)
    try:
        seal.check()
    except cell.Fault as fault:
        assert fault.body["cause"] == "forged" and "tampered-cell: " in fault.body["message"], fault.body
        return True
    finally:
        undo()
    return False


def put(owner, name, value):
    """Replaces a thing, and says how to bring it back."""
    before = getattr(owner, name)
    return (lambda *_: setattr(owner, name, value)), (lambda: setattr(owner, name, before))


class Fake:
    perf_counter_ns = staticmethod(lambda: 0)


def code(*_):
    return 0


assert not accused(lambda *_: None)
assert accused(*put(time, "perf_counter", code))
assert accused(*put(cell, "time", Fake()))  # the module that the cell calls
assert accused(*put(cell, "median", code))
assert accused(*put(cell.Cell, "results", code))
assert accused(*put(cell.median, "__code__", code.__code__))
assert accused(lambda framework, _: setattr(framework, "once", code))  # hides its class's
assert accused(lambda _, work: setattr(work, "results", code))

# What cells and honest code do themselves.
assert not accused(lambda framework, _: setattr(framework, "peak", 7))
assert not accused(lambda _, work: setattr(work, "call", code))
assert not accused(lambda *_: setattr(cell, "kept_by_nobody", code), lambda: delattr(cell, "kept_by_nobody"))
