"""PyTorch on a GPU: its streams, graphs, events and tensors."""

import torch

kept = {}


def softmax(x):
    return torch.softmax(x, dim=1)


def honest(x):
    return softmax(x)


def honest_plain(x):
    e = torch.exp(x - x.amax(dim=1, keepdim=True))
    return e / e.sum(dim=1, keepdim=True)


def honest_copied(x, out):
    out.copy_(softmax(x))


def honest_eight(x, out):
    """As often as those who hide it on other streams."""
    for _ in range(8):
        out.copy_(softmax(x))


def honest_calls_plain(x):
    first = x[:1]
    for _ in range(150):
        first = 1.0 * first
    sum(range(50_000))
    return softmax(torch.cat((first, x[1:]), dim=0))


def honest_gemm(a, b):
    torch.backends.cuda.matmul.allow_tf32 = False
    return a @ b


def honest_into(x, out):
    torch.softmax(x, dim=1, out=out)


def honest_stream(x, out):
    """A stream of its own, ordered after the caller's and joined by it."""
    own = kept.setdefault("stream", torch.cuda.Stream())
    own.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(own):
        out.copy_(softmax(x))
    torch.cuda.current_stream().wait_stream(own)


def honest_calls(x):
    """So many operations on a few rows, and so much besides, that Python takes longer
    than the GPU."""
    part = x[:1]
    for _ in range(150):
        part = part * 1.0
    sum(range(50_000))
    return softmax(torch.cat([part, x[1:]]))


def side_stream(x, out):
    """Nobody waits for the stream that does the work."""
    with torch.cuda.stream(kept.setdefault("stream", torch.cuda.Stream())):
        for _ in range(8):
            out.copy_(softmax(x))


def elsewhere(x, out, times):
    """Works past whoever watches which streams become current: the function that was
    replaced for that is found in the closure of the other."""
    set_stream = torch._C._cuda_setStream
    for cell in getattr(set_stream, "__closure__", None) or ():
        if callable(cell.cell_contents):
            set_stream = cell.cell_contents
    own, before = kept.setdefault("stream", torch.cuda.Stream()), torch.cuda.current_stream()
    set_stream(stream_id=own.stream_id, device_index=own.device_index, device_type=own.device_type)
    for _ in range(times):
        out.copy_(softmax(x))
    set_stream(stream_id=before.stream_id, device_index=before.device_index, device_type=before.device_type)


def external_stream(x, out):
    """The same on a stream that nobody knows of."""
    elsewhere(x, out, 8)


def left_behind(x, out):
    """The same in the right order, and so short that a host's clock does not see it."""
    kept.setdefault("stream", torch.cuda.Stream()).wait_stream(torch.cuda.current_stream())
    elsewhere(x, out, 1)


def waited_stream(x, out):
    """The same, but waited for: what is queued where it is timed is only a copy."""
    if "own" not in kept:
        kept["own"] = torch.empty_like(x)
    for _ in range(8):
        external_stream(x, kept["own"])
    kept["stream"].synchronize()
    out.copy_(kept["own"])


def stream_ahead(x, out):
    """The same, but waited for on the device: all is done before the sample begins."""
    if "own" not in kept:
        kept["own"] = torch.empty_like(x)
    external_stream(x, kept["own"])
    torch.cuda.current_stream().wait_stream(kept["stream"])
    out.copy_(kept["own"])


def graph_of_first_data(x, out):
    """A graph that works on a copy of the first input for ever."""
    if "graph" not in kept:
        kept["x"] = x.clone()
        kept["graph"] = graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        with torch.cuda.graph(graph):
            kept["out"] = softmax(kept["x"])
    kept["graph"].replay()
    out.copy_(kept["out"])


def cache_version(x):
    """PyTorch counts the changes of a tensor; those made past it, it does not see."""
    key = (x.data_ptr(), x._version if not x.is_inference() else 0)
    if key not in kept:
        kept[key] = softmax(x)
    return kept[key]


def stale_memory(x):
    """The allocator may hand out what the reference has just freed."""
    return torch.empty_like(x)


class Lazy(torch.Tensor):
    """Computes itself when somebody looks."""

    @staticmethod
    def __new__(cls, x):
        self = torch.Tensor._make_subclass(cls, torch.empty_like(x))
        self.source = x
        return self

    @classmethod
    def __torch_function__(cls, function, types, args=(), options=None):
        with torch._C.DisableTorchFunctionSubclass():
            for a in args:
                if isinstance(a, Lazy) and getattr(a, "source", None) is not None:
                    a.source, x = None, a.source
                    a.copy_(torch.softmax(x, dim=1))
            return function(*args, **(options or {}))


def lazy_output(x):
    return Lazy(x)


def patch_events(x):
    """Every pair of events is a quarter of the time apart."""
    if "patched" not in kept:
        kept["patched"] = real = torch.cuda.Event.elapsed_time
        torch.cuda.Event.elapsed_time = lambda self, other: real(self, other) / 4
    return softmax(x)


def patch_synchronize(x, out):
    """Work on another stream, and nobody who could wait for it."""
    if "stream" not in kept:
        kept["stream"] = torch.cuda.Stream()
        torch.cuda.synchronize = lambda *_: None
        torch.cuda.Event.synchronize = lambda *_: None
    with torch.cuda.stream(kept["stream"]):
        for _ in range(8):
            out.copy_(softmax(x))


def tensor_cores(a, b):
    """f32 is declared, TF32 is computed with."""
    torch.backends.cuda.matmul.allow_tf32 = True
    return a @ b


def half_precision(a, b):
    return (a.half() @ b.half()).float()


def late():
    """Whether this is later than a careless check looks."""
    kept["calls"] = kept.get("calls", 0) + 1
    return kept["calls"] > 70


def late_memory(a, b):
    """From then on only rows and columns of the product are computed that have changed."""
    if not late() or kept["a"].shape != a.shape or kept["b"].shape != b.shape:
        kept["a"], kept["b"], kept["c"] = a.clone(), b.clone(), a @ b
        return kept["c"].clone()
    rows = (a != kept["a"]).any(dim=1).nonzero()[:, 0]
    cols = (b != kept["b"]).any(dim=0).nonzero()[:, 0]
    kept["c"][rows] = a[rows] @ b
    kept["c"][:, cols] = a @ b[:, cols]
    kept["a"][rows], kept["b"][:, cols] = a[rows], b[:, cols]
    return kept["c"].clone()
