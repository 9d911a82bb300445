"""PyTorch."""

import ctypes
import random
import sys
import warnings

from ..clock import Wall
from ..dtype import FLOATS, SIZE
from ..events import Events
from ..fault import Fault
from ..generator import WORDS, narrow, poison_of
from .array import extent, framework_module, odd_type, repeats

CLOCK_JITTER = 5.0  # microseconds by which a profiler's times may be off


class Torch:
    """PyTorch tensors."""

    name = "torch"
    in_place = True

    def __init__(self, torch):
        self.torch = torch
        self.place = torch.device("cuda" if self.device else "cpu")
        self.fix_environment()

    def runtime(self):
        torch, parts = self.torch, [f"PyTorch {self.torch.__version__}"]
        if self.device:
            parts.append(f"CUDA {torch.version.cuda}")
            if torch.backends.cudnn.is_available():
                parts.append(f"cuDNN {torch.backends.cudnn.version()}")
        if "triton" in sys.modules:
            parts.append(f"Triton {getattr(sys.modules['triton'], '__version__', '')}")
        return ", ".join(parts)

    def fix_environment(self):
        """Full precision, and the deterministic choice where there is one."""
        torch = self.torch
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about newer names of the same switches
            torch.backends.cuda.matmul.allow_tf32 = False
            torch.backends.cudnn.allow_tf32 = False
            torch.backends.cudnn.benchmark = False
            torch.backends.cudnn.deterministic = True
            # use_deterministic_algorithms without importing the compiler to tell it.
            torch._C._set_deterministic_algorithms(True, warn_only=True)
        if hasattr(torch.utils, "deterministic"):
            # Else every torch.empty would be filled, inside the measurement.
            torch.utils.deterministic.fill_uninitialized_memory = False

    def loaded(self):
        torch = self.torch
        if "torch._dynamo" in sys.modules and torch.are_deterministic_algorithms_enabled():
            torch.use_deterministic_algorithms(True, warn_only=torch.is_deterministic_algorithms_warn_only_enabled())

    # arrays

    def dtype(self, name):
        names = {"bf16": "bfloat16", "e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2"}
        full = names.get(name) or {"f": "float", "i": "int", "u": "uint"}[name[0]] + name[1:]
        found = getattr(self.torch, full, None)
        if found is None:
            raise Fault("unsupported", f"PyTorch {self.torch.__version__} has no {name}", "a newer PyTorch has")
        return found

    def empty(self, size):
        return self.torch.empty(size, dtype=self.torch.uint8, device=self.place)

    def address(self, array):
        return array.data_ptr()

    def view(self, data, dtype, shape):
        return data.view(self.dtype(dtype)).reshape(shape)

    def raw(self, data, size):
        return data.view(getattr(self.torch, f"int{8 * size}"))

    def copy(self, target, source):
        target.copy_(source)

    def clone(self, array):
        return array.clone()

    def describe(self, value):
        if isinstance(value, self.torch.Tensor) and value.device.type == self.place.type:
            return tuple(value.shape), value.dtype
        return None

    def odd(self, value):
        found = odd_type(value, self.torch.Tensor)
        if not found and vars(value):
            found = "one with attributes of its own: " + ", ".join(vars(value))
        if not found and (value.layout is not self.torch.strided or value.is_neg() or value.is_conj()):
            found = "one whose elements are not there yet"
        return found or repeats(value.shape, value.stride())

    def extent(self, value):
        size = value.element_size()
        return extent(value.data_ptr(), value.shape, [size * stride for stride in value.stride()], size)

    def tobytes(self, value):
        value = value.detach().contiguous().cpu()
        return ctypes.string_at(value.data_ptr(), value.numel() * value.element_size())

    def spoil(self, value, dtype):
        self.raw(value.detach(), SIZE[dtype]).fill_(poison_of(dtype))

    def look(self, array):
        return array

    def all_equal(self, array, value):
        return bool((array == value).all())

    def first_other(self, array, value):
        return int((array != value).int().argmax())

    # for the generator

    def integers(self, values, size):
        return self.torch.tensor(values, dtype=getattr(self.torch, f"int{8 * size}"), device=self.place)

    def arange(self, first, last):
        return self.torch.arange(first, last, dtype=self.torch.int64, device=self.place)

    def real(self, values, width):
        return values.to(self.torch.float64 if width == "f64" else self.torch.float32)

    def bits(self, values):
        return values.view(self.torch.int32).to(self.torch.int64)

    def raw_of(self, values, dtype):
        if dtype in ("f64", "f32"):
            return self.raw(values, SIZE[dtype])
        if dtype == "f16":
            return self.raw(values.to(self.torch.float16), 2)
        if dtype in FLOATS:
            values = narrow(self, values, dtype)
        return values.to(getattr(self.torch, f"int{8 * SIZE[dtype]}"))

    def where(self, condition, one, other):
        return self.torch.where(condition, one, other)

    def drawn(self, target):
        return target

    def move(self, raw):
        return raw

    # for samples

    def prepare(self, seed, threads):
        random.seed(seed)
        self.torch.manual_seed(seed & 0x7FFFFFFFFFFFFFFF)
        self.torch.set_num_threads(max(1, threads))
        if "numpy" in sys.modules:
            sys.modules["numpy"].random.seed(seed & 0xFFFFFFFF)


class TorchOnProcessor(Torch, Wall):
    chunk = WORDS  # an operation begins more slowly than NumPy's

    def __init__(self, torch, load):
        super().__init__(torch)
        self.start_wall()

    def ones(self, words):
        return self.torch.ones(words, dtype=self.torch.int64)

    def scan(self, array):
        array.max()


class TorchOnGPU(Torch, Events):
    def __init__(self, torch, load):
        super().__init__(torch)
        properties = torch.cuda.get_device_properties(0)
        words = 2 * (getattr(properties, "L2_cache_size", 0) or load.get("l2_bytes") or 64 << 20) // 4
        self.buffers = [torch.zeros(words, dtype=torch.int32, device=self.place) for _ in range(2)]
        self.sink = torch.zeros((), dtype=torch.int32, device=self.place)
        self.count = 0
        self.watch_streams()
        self.start_events()

    def prepare(self, seed, threads):
        super().prepare(seed, threads)
        self.torch.cuda.empty_cache()
        self.peak = 0

    def begin(self):
        self.torch.cuda.reset_peak_memory_stats()  # pawl's own checks are not the function's

    def synchronize(self):
        self.torch.cuda.synchronize()

    def finish(self, seconds, repeat):
        seconds, doubts = super().finish(seconds, repeat)
        self.peak = max(self.peak, self.torch.cuda.max_memory_allocated())
        doubts["device_bytes"] = self.peak
        return seconds, doubts

    def trace(self, call):
        """By CUPTI, through PyTorch's profiler."""
        profiler, on_device = self.torch.profiler, self.torch.autograd.DeviceType.CUDA
        self.synchronize()
        timed = self.torch.cuda.current_stream()
        with profiler.profile(activities=[profiler.ProfilerActivity.CUDA]) as profile:
            self.sleep(self.most_hidden)
            self.began.record()
            self.hold(self.began)
            call()
            with self.torch.cuda.stream(timed):
                self.join()
                self.sleep(0)
            self.synchronize()
        ran = [e for e in profile.events() if e.device_type == on_device and not getattr(e, "is_user_annotation", False)]
        return outside(sorted(ran, key=lambda e: e.time_range.start), "spin_kernel")

    def event(self):
        return self.torch.cuda.Event(enable_timing=True)

    def elapsed(self, began, ended):
        return began.elapsed_time(ended) * 1e-3

    def sleep(self, seconds):
        self.torch.cuda._sleep(int(seconds * 2e9))  # cycles; no GPU runs faster for long

    def write(self):
        self.count += 1
        self.buffers[0].fill_(self.count)

    def read(self):
        self.torch.sum(self.buffers[1], dim=0, dtype=self.torch.int32, out=self.sink)

    def relied_on(self):
        cuda = self.torch.cuda
        places = [("torch.cuda", cuda, name) for name in ("synchronize", "current_stream", "_sleep", "Event", "Stream")]
        places += [("torch.cuda.Event", cuda.Event, name) for name in ("record", "synchronize", "query", "elapsed_time")]
        places += [("torch.cuda.Stream", cuda.Stream, name) for name in ("wait_event", "wait_stream")]
        return places + [("torch._C", self.torch._C, "_cuda_setStream")]

    def watch_streams(self):
        """Notes the streams that the function makes current, so that their work
        can be waited for on the device. What gets around this is seen by the
        clock."""
        torch = self.torch
        self.streams = {}
        set_stream = torch._C._cuda_setStream

        def noting(**stream):
            if stream["stream_id"] not in self.streams:
                self.streams[stream["stream_id"]] = torch.cuda.Stream(**stream)
            set_stream(**stream)

        torch._C._cuda_setStream = noting

    def others(self):
        current = self.torch.cuda.current_stream()
        return [stream for stream in self.streams.values() if stream != current]

    def hold(self, event):
        for stream in self.others():
            stream.wait_event(event)

    def join(self):
        """Makes the current stream wait for the others, if there are any."""
        others = self.others()
        if others:
            self.own.record()
        current = self.torch.cuda.current_stream()
        for stream in others:
            current.wait_stream(stream)
        return bool(others)


def outside(ran, sleeper):
    """The names of the kernels that ran between two that pawl has put around them on
    the stream that is timed, and of those that began before the first had ended, or
    ended after the second; of the latter also copies on the device. Others may sleep
    as well, on streams of their own."""
    around = [e for e in ran if sleeper in e.name]
    around = [e for e in around if e.device_resource_id == around[0].device_resource_id]
    if len(around) < 2:
        return [], []  # nothing is known
    ran = [e for e in ran if e is not around[0] and e is not around[-1]]
    begin, end = around[0].time_range.end - CLOCK_JITTER, around[-1].time_range.end + CLOCK_JITTER
    past = [e for e in ran if e.time_range.start < begin or e.time_range.end > end]
    kernels = [e.name for e in ran if not e.name.startswith(("Memcpy ", "Memset "))]
    return list(dict.fromkeys(kernels)), list(dict.fromkeys(e.name for e in past if e.name in kernels or e.name.startswith("Memcpy DtoD")))


def torch_here(load):
    """PyTorch on the GPU if there is one."""
    torch = framework_module("torch")
    return (TorchOnGPU if torch.cuda.is_available() else TorchOnProcessor)(torch, load)
