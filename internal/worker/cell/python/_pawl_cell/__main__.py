"""Starts the cell. A worker runs this file, or the bytecode that it has made of it and
of the modules beside it.

The package is found in this folder and nowhere else. Others of its name may be where
the kernel's code is, in a folder of PYTHONPATH or of a .pth file, or in sys.modules
already: code that runs when the interpreter starts can put it there.
"""

import sys

if __name__ == "__main__":
    sys.path.pop(0)  # this file's folder, which is no place to import from

import importlib
import importlib.machinery
import importlib.util
import os

PACKAGE = "_pawl_cell"
FOLDER = os.path.dirname(os.path.abspath(__file__))
SUFFIX = os.path.splitext(__file__)[1]


class FromText(importlib.machinery.SourceFileLoader):
    """Loads a module from its text: PYTHONPYCACHEPREFIX may name a folder with bytecode
    of another."""

    def get_code(self, fullname):
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


class Finder:
    """Finds the modules of the package, and no others."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        package, *parts = name.split(".")
        if package != PACKAGE:
            return None
        file = folder = os.path.join(FOLDER, *parts)
        if os.path.isdir(folder):
            file = os.path.join(folder, "__init__")
        loader = importlib.machinery.SourcelessFileLoader if SUFFIX == ".pyc" else FromText
        return importlib.util.spec_from_file_location(
            name, file + SUFFIX, loader=loader(name, file + SUFFIX), submodule_search_locations=None if file is folder else [folder])


def start():
    sys.dont_write_bytecode = True
    for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
        del sys.modules[name]
    sys.meta_path.insert(0, Finder)
    serve = importlib.import_module(PACKAGE + ".serve")
    sys.meta_path.remove(Finder)
    serve.main()


if __name__ == "__main__":  # a process that the kernel starts may import this file
    start()
