"""Checks what the rivals that ship with pawl ask of PyTorch, without PyTorch: scale, mask,
grouped heads and backend must arrive. What it answers is compared where it is installed."""

import contextlib
import importlib.util
import os
import sys
import types

sys.dont_write_bytecode = True
asked, backends, refusing = [], [], []


class Backend:
    def __init__(self, name):
        self.name = name


@contextlib.contextmanager
def sdpa_kernel(backend):
    backends.append(backend.name)
    yield
    backends.pop()


def attention(q, k, v, **options):
    if backends and backends[-1] in refusing:
        raise RuntimeError("No available kernel. Aborting execution.")
    asked.append(dict(options, tensors=(q, k, v), backend=backends[-1] if backends else None))
    return "answer"


def module(name, **content):
    made = types.ModuleType(name)
    made.__dict__.update(content)
    sys.modules[name] = made
    return made


names = {"flash": "FLASH_ATTENTION", "cudnn": "CUDNN_ATTENTION", "efficient": "EFFICIENT_ATTENTION", "math": "MATH"}
module("torch", __version__="0")
module("torch.nn")
module("torch.nn.attention", sdpa_kernel=sdpa_kernel, SDPBackend=types.SimpleNamespace(**{n: Backend(n) for n in names.values()}))
module("torch.nn.functional", scaled_dot_product_attention=attention)
here = os.path.dirname(os.path.abspath(__file__))
spec = importlib.util.spec_from_file_location("rivals", os.path.join(here, "..", "rivals.py"))
rivals = importlib.util.module_from_spec(spec)
spec.loader.exec_module(rivals)


class Tensor:
    def __init__(self, heads):
        self.shape = (2, heads, 16, 8)


def ask(rival, heads=(4, 4), **arguments):
    tensors = [Tensor(heads[0]), Tensor(heads[1]), Tensor(heads[1])]
    asked.clear()
    assert getattr(rivals, rival)(*tensors, **arguments) == "answer"
    got = asked.pop()
    assert got.pop("tensors") == tuple(tensors), rival  # queries, keys and values, in this order
    assert not asked and not backends
    return got


for backend in [None, *names]:
    rival = "sdpa_" + backend if backend else "sdpa"
    own = names[backend] if backend else None
    assert ask(rival) == {"scale": None, "is_causal": False, "backend": own}, rival
    assert ask(rival, scale=0.7, causal=1) == {"scale": 0.7, "is_causal": True, "backend": own}, rival
    assert ask(rival, scale=0.7, causal=0) == {"scale": 0.7, "is_causal": False, "backend": own}, rival
    assert ask(rival, heads=(4, 2), causal=True) == {"scale": None, "is_causal": True, "enable_gqa": True, "backend": own}, rival

refusing.append("FLASH_ATTENTION")
try:
    ask("sdpa_flash")
except NotImplementedError as refused:
    assert "has no flash attention for this problem" in str(refused), refused
else:
    raise AssertionError("a backend that refuses has answered")
