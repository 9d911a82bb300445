"""Checks that every module has the names that its functions take from it: many run only
on a GPU."""

import builtins
import dis
import importlib
import os
import sys
import types

sys.dont_write_bytecode = True
here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, ".."))


def codes(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes(constant)


root = os.path.realpath(os.path.join(here, ".."))
seen = 0
for folder, _, files in os.walk(os.path.join(root, "_pawl_cell")):
    for file in files:
        if not file.endswith(".py"):
            continue
        path = os.path.join(folder, file)
        name = os.path.relpath(path, root)[:-3].replace(os.sep, ".")
        module = importlib.import_module(name[:-9] if name.endswith(".__init__") else name)
        with open(path) as text:
            whole = compile(text.read(), path, "exec")
        for code in codes(whole):
            for step in dis.get_instructions(code):
                if step.opname in ("LOAD_GLOBAL", "LOAD_NAME") and (step.opname == "LOAD_GLOBAL" or code is whole):
                    seen += 1
                    assert hasattr(module, step.argval) or hasattr(builtins, step.argval), (path, code.co_name, step.argval)
assert seen > 500, seen
