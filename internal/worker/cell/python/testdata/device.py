"""Checks what the cell says of where its arrays live."""

import os
import sys
import tempfile
import types

sys.dont_write_bytecode = True
here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, ".."))

from _pawl_cell import cell
from _pawl_cell.clock import Wall
from _pawl_cell.fault import Fault
from _pawl_cell.frameworks.cupy import CuPy
from _pawl_cell.frameworks.jax import Jax
from _pawl_cell.frameworks.numpy import NumPy
from _pawl_cell.frameworks.torch import TorchOnGPU, TorchOnProcessor


class Framework(Wall):
    flush_name = "none"

    def __init__(self, device):
        self.device = device

    def loaded(self):
        pass

    def runtime(self):
        return "a framework"


def told(device, text):
    cell.framework = Framework(device)
    cell.FRAMEWORKS["stub"] = lambda load: cell.framework
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # which the cell writes the module to
        path = os.path.join(folder, "kernel.txt")
        with open(path, "w") as file:
            file.write(text)
        return cell.Cell().load({"framework": "stub", "entry": "kernel:run", "path": path})["on_device"]


def jax(backend):
    """A JAX of which nothing works but what the cell asks it for when it starts."""
    module = types.ModuleType("jax")
    module.config = types.SimpleNamespace(update=lambda key, value: None)
    module.numpy = types.SimpleNamespace(zeros=lambda shape: 0.0, sum=None, full=None, int32=None)
    module.lax = types.SimpleNamespace(bitcast_convert_type=None)
    module.jit = lambda function: lambda *values: None
    module.default_backend = lambda: backend
    sys.modules["jax"] = module
    return Jax({}).device


plain = "def run(a):\n    return a\n"
for device in (False, True):
    assert told(device, plain) is device, device
    # The kernel's module has no say in it.
    assert told(device, f"from _pawl_cell import cell\ncell.framework.device = {not device}\n" + plain) is device, device
    # That Triton finds no device is a lack of the machine where there is none.
    try:
        told(device, "raise RuntimeError('0 active drivers ([]). There should only be one.')")
    except Fault as fault:
        assert fault.body["cause"] == ("crash" if device else "unsupported"), fault.body
    else:
        raise AssertionError("no fault")

assert (TorchOnProcessor.device, TorchOnGPU.device, CuPy.device) == (False, True, True)
try:
    import numpy
except ImportError:
    sys.exit()
assert NumPy({}).device is False
assert (jax("cpu"), jax("gpu")) == (False, True)
