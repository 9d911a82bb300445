"""Checks what the cell notices of functions that were replaced, and what not."""

import os
import sys
import time
import types

sys.dont_write_bytecode = True
here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, ".."))

import _pawl_cell.serve  # and with it all others
from _pawl_cell import clock, events
from _pawl_cell.cell import Cell
from _pawl_cell.fault import Fault
from _pawl_cell.seal import Seal


class Framework(clock.Wall):
    def __init__(self):
        self.lock = object()
        self.flush_name = "none"
        self.finish = len  # its own, from the beginning

    def once(self):
        return 1

    def finish(self):
        return 2


def fresh():
    framework, work = Framework(), Cell()
    return framework, work, Seal(framework, work)


def accused(change, undo=lambda: None):
    framework, work, seal = fresh()
    change(framework, work)
    try:
        seal.check()
    except Fault as fault:
        assert fault.body["cause"] == "forged" and "tampered-cell: " in fault.body["message"], fault.body
        return True
    finally:
        undo()
    return False


def put(owner, name, value):
    """Replaces a thing, and says how to bring it back."""
    own = name in vars(owner) or not isinstance(owner, type)
    before = getattr(owner, name)
    return (lambda *_: setattr(owner, name, value)), (lambda: setattr(owner, name, before) if own else delattr(owner, name))


class Fake:
    perf_counter_ns = staticmethod(lambda: 0)


def code(*_):
    return 0


assert not accused(lambda *_: None)
assert accused(*put(time, "perf_counter", code))
assert accused(*put(clock, "time", Fake()))  # the module that the cell calls
assert accused(*put(events, "median", code))
assert accused(*put(Cell, "results", code))
assert accused(*put(Framework, "settle", code))  # hides what it inherits
assert accused(*put(events.median, "__code__", code.__code__))
assert accused(lambda framework, _: setattr(framework, "once", code))  # hides its class's
assert accused(lambda _, work: setattr(work, "results", code))

# What cells and honest code do themselves.
assert not accused(lambda framework, _: setattr(framework, "peak", 7))
assert not accused(lambda _, work: setattr(work, "call", code))
assert not accused(lambda *_: setattr(clock, "kept_by_nobody", code), lambda: delattr(clock, "kept_by_nobody"))

# Every module that ships, and all that it has: functions, classes and their methods, what
# it takes from others, and its constants.
package = os.path.dirname(_pawl_cell.__file__)
shipped = set()
for folder, _, files in os.walk(package):
    within = os.path.relpath(folder, os.path.dirname(package)).replace(os.sep, ".")
    shipped.update(within if file == "__init__.py" else f"{within}.{file[:-3]}" for file in files if file.endswith(".py"))
shipped.remove("_pawl_cell.__main__")  # has done its work before the kernel's code runs
assert len(shipped) > 20, shipped


def refused(change, undo):
    """Also by an exception of another kind: what is raised can itself be replaced."""
    _, _, seal = fresh()
    check = seal.check  # as the cell has it
    change()
    try:
        check()
    except Exception:
        return True
    finally:
        undo()
    return False


for name in sorted(shipped):
    module, seen = sys.modules[name], 0
    for key, value in list(vars(module).items()):
        if value is None or key.startswith("__"):
            continue
        seen += 1
        assert refused(*put(module, key, code)), (name, key)
        if getattr(value, "__module__", None) != name:
            continue
        if isinstance(value, types.FunctionType):
            assert refused(*put(value, "__code__", code.__code__)), (name, key)
        for method, function in list(vars(value).items()) if isinstance(value, type) else ():
            if isinstance(function, types.FunctionType):
                assert refused(*put(value, method, code)), (name, key, method)
    assert seen, name
