"""What the kernel's code must not replace."""

import hashlib
import struct
import sys
import time

from .fault import Fault

ABOUT = ("__name__", "__doc__", "__package__", "__loader__", "__spec__", "__path__", "__file__", "__cached__")  # of a module; nothing is done by them


def tampered(what):
    return Fault("forged", "tampered-cell: " + what, "the kernel, which shares the cell's process, has replaced code that measures it")


def modules():
    """All modules of the cell, once they are imported."""
    package = __name__.partition(".")[0]
    return [module for name, module in list(sys.modules.items()) if name.partition(".")[0] == package]


def inherited(thing):
    """The functions of an object's class. One that it inherits can be hidden by another
    in the class itself."""
    return {name: value for c in reversed(type(thing).__mro__) for name, value in vars(c).items() if callable(value)}


def hides(thing):
    """Names that an object has and that are functions of its class."""
    return [name for name in vars(thing) if any(callable(vars(c).get(name)) for c in type(thing).__mro__)]


class Seal:
    """What functions and constants the cell works with, in every module of it, taken
    down before any of the kernel's code runs: whoever replaces one wants other numbers
    than there are."""

    def __init__(self, framework, cell):
        places = []
        for module in cell.modules:
            names = vars(module)
            places += [(module.__name__, names, name) for name, value in names.items() if value is not None and name not in ABOUT]
            own = [value for value in names.values() if isinstance(value, type) and value.__module__ == module.__name__]
            places += [(c.__qualname__, vars(c), name) for c in own for name, v in vars(c).items() if callable(v)]
        self.objects = [framework, cell]
        self.hiding = [set(hides(thing)) for thing in self.objects]
        self.methods = [inherited(thing) for thing in self.objects]
        places += [("the framework", vars(framework), name) for name, value in vars(framework).items() if isinstance(value, type(sys))]
        clocks = ("perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns")
        places += [("time", vars(time), name) for name in clocks if hasattr(time, name)]
        places += [(where, vars(owner), name) for where, owner, name in framework.relied_on()]
        self.kept = [(where, names, name, names[name], getattr(names[name], "__code__", None)) for where, names, name in places if name in names]

    def check(self, inherited=inherited, hides=hides, tampered=tampered):
        """By functions that are kept here: others of their names may be in this module now."""
        for where, names, name, kept, code in self.kept:
            found = names.get(name)
            if found is not kept or code is not None and found.__code__ is not code:
                raise tampered(f"{where}.{name} is not what it was before the kernel's module was imported")
        for thing, hiding, methods in zip(self.objects, self.hiding, self.methods):
            for name, function in inherited(thing).items():
                if methods.get(name, function) is not function:
                    raise tampered(f"{type(thing).__name__}.{name} is not what it was before the kernel's module was imported")
            for name in hides(thing):
                if name not in hiding:
                    raise tampered(f"{type(thing).__name__}.{name} is hidden by another function")


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
            raise tampered("what samples took was changed after they were taken")
        return self.seconds
