"""The kernel's project: where its modules are imported from, and its function."""

import difflib
import importlib
import importlib.machinery
import importlib.util
import os
import sys

from .fault import Fault, last_line, missing, raised, show


class FromSource(importlib.machinery.SourceFileLoader):
    """Loads a module from its text, never from bytecode beside it: that need not be of
    this text, whatever it says, and nobody counts it as the kernel's code."""

    def get_code(self, fullname):
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


class Project:
    """Folders of the kernel's project, from which bytecode is not imported. The
    interpreter's packages keep theirs, wherever they are: without it a framework takes
    seconds longer."""

    def __init__(self):
        self.folders = []
        self.libraries = []
        self.standard = os.path.join(os.path.dirname(os.path.realpath(os.__file__)), "")
        for prefix in {sys.prefix, sys.base_prefix, sys.exec_prefix, os.environ.get("PYTHONUSERBASE", sys.prefix)}:
            for name in ("lib", "lib64"):
                self.libraries.append(os.path.join(os.path.realpath(prefix), name, ""))

    def add(self, folders):
        """Takes folders to import from, and the repository around each: PYTHONPATH may
        name others of it."""
        for folder in map(os.path.realpath, folders):
            root = folder
            while root != os.path.dirname(root) and not os.path.lexists(os.path.join(root, ".git")):
                root = os.path.dirname(root)
            self.folders += [folder, root] if os.path.lexists(os.path.join(root, ".git")) else [folder]
        if self.finder not in sys.path_hooks:
            sys.path_hooks.insert(0, self.finder)
        sys.path_importer_cache.clear()  # of finders that were made before

    def finder(self, path):
        real = os.path.realpath(path)
        if not os.path.isdir(real) or not self.has(real):
            raise ImportError("not of the project", path=path)
        return importlib.machinery.FileFinder(
            path,
            (importlib.machinery.ExtensionFileLoader, importlib.machinery.EXTENSION_SUFFIXES),
            (FromSource, importlib.machinery.SOURCE_SUFFIXES),
        )

    def has(self, real):
        """Reports whether a folder is the project's: libraries in it, as of a virtual
        environment, are not."""
        path = os.path.join(real, "")
        for folder in self.folders:
            folder = os.path.join(folder, "")
            if path.startswith(folder):
                packages = [library for library in self.libraries if "-packages" in real] + [self.standard]
                return not any(library.startswith(folder) and path.startswith(library) for library in packages)
        return False


PROJECT = Project()


def load_function(load, device):
    """Imports the kernel's module from the artifact, under its own name, and
    finds the function."""
    module_name, _, path = load["entry"].partition(":")
    for folder in reversed(load.get("dirs") or []):
        sys.path.insert(0, folder)
    package = module_name.rpartition(".")[0]
    file = os.path.join(os.getcwd(), "module", *module_name.split(".")) + ".py"
    os.makedirs(os.path.dirname(file), exist_ok=True)
    with open(load["path"], "rb") as artifact, open(file, "wb") as copy:
        copy.write(artifact.read())  # Triton and tracebacks read the source again
    if package:
        try:
            importlib.import_module(package)
        except ImportError:
            pass  # a worker elsewhere may have the module alone
    spec = importlib.util.spec_from_file_location(module_name, file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    try:
        spec.loader.exec_module(module)
    except ImportError as error:
        show(error)
        if error.name and error.name.partition(".")[0] not in sys.modules:
            fault = missing(error.name.partition(".")[0])
            fault.body["message"] = f"importing {module_name}: {fault.body['message']}"
            raise fault from None
        raise Fault("unsupported", f"importing {module_name}: {last_line(error)}") from None
    except SyntaxError as error:
        show(error)
        raise Fault("compile", f"{os.path.basename(error.filename or file)}:{error.lineno}: {error.msg}") from None
    except Exception as error:
        show(error)
        raise raised(f"importing {module_name}", error, file, device) from None
    found = module
    for part in path.split("."):
        if not hasattr(found, part):
            names = [name for name in vars(found) if callable(getattr(found, name)) and not name.startswith("_")]
            near = difflib.get_close_matches(part, names, 1)
            hint = f"did you mean {near[0]}?" if near else "it has: " + ", ".join(sorted(names)[:10]) if names else "it defines no function"
            raise Fault("no entry", f"no function {path!r} in {module_name}", hint)
        found = getattr(found, part)
    if not callable(found):
        raise Fault("no entry", f"{path!r} in {module_name} is no function but {type(found).__name__}")
    return found, file
