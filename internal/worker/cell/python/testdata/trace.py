"""Checks what the cell makes of a profiler's list of kernels, on a PyTorch that is
made up: streams in time, and a profiler that writes down what they ran."""

import os
import sys
import types

sys.dont_write_bytecode = True
here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, ".."))

from _pawl_cell.frameworks.torch import TorchOnGPU, outside

SPIN = "at::cuda::(anonymous namespace)::spin_kernel(long)"


class Profile:
    """All times are microseconds."""

    now, busy, ran, on = 0.0, {}, [], False

    def __enter__(self):
        Profile.on = True
        return self

    def __exit__(self, *error):
        Profile.on = False

    def events(self):
        host = types.SimpleNamespace(device_type="CPU", name="cudaLaunchKernel", time_range=None)
        marked = types.SimpleNamespace(device_type="CUDA", name="range", is_user_annotation=True)
        return [host, marked, *reversed(Profile.ran)]  # in no order


def launch(name, took=10.0, stream=7):
    Profile.now += 5
    start = max(Profile.now, Profile.busy.get(stream, 0.0))
    Profile.busy[stream] = start + took
    if Profile.on:
        Profile.ran.append(types.SimpleNamespace(
            device_type="CUDA", name=name, device_resource_id=stream, time_range=types.SimpleNamespace(start=start, end=start + took)))


def wait(one, other):
    Profile.busy[one] = max(Profile.busy.get(one, 0.0), Profile.busy.get(other, 0.0))


class Current:
    """The stream that the framework launches on, and a change of it."""

    stream = 7

    def __init__(self, stream):
        self.next = stream

    def __enter__(self):
        self.before, Current.stream = Current.stream, self.next

    def __exit__(self, *error):
        Current.stream = self.before


class Framework(TorchOnGPU):
    def __init__(self, known=None):
        Profile.now, Profile.busy, Profile.ran, Current.stream = 0.0, {}, [], 7
        self.known = known  # a stream
        self.began = types.SimpleNamespace(record=lambda: None)
        self.torch = types.SimpleNamespace(
            profiler=types.SimpleNamespace(profile=lambda activities: Profile(), ProfilerActivity=types.SimpleNamespace(CUDA=1)),
            autograd=types.SimpleNamespace(DeviceType=types.SimpleNamespace(CUDA="CUDA")),
            cuda=types.SimpleNamespace(current_stream=lambda: Current.stream, stream=Current))

    def synchronize(self):
        Profile.now = max([Profile.now, *Profile.busy.values()])

    def sleep(self, seconds):
        launch(SPIN, 1e6 * seconds + 1, Current.stream)

    def hold(self, event):
        if self.known:
            wait(self.known, 7)

    def join(self):
        if self.known:
            wait(7, self.known)


def traced(call, known=None):
    kernels, outside = Framework(known).trace(call)
    return sorted(kernels), sorted(outside)


def on_its_stream():
    launch("a")
    launch("Memcpy DtoD (Device -> Device)")
    launch("a")
    launch("b", 1e4)


def joined():
    wait(8, 7)
    launch("a", stream=8)
    wait(7, 8)


def never_waits():
    launch("a", stream=8)
    wait(7, 8)
    launch("b")


def nobody_waits():
    wait(8, 7)
    launch("a", 30, stream=8)
    launch("b", 1)


def sleeps_too():
    launch(SPIN, 20)
    launch("a")


def sleeps_elsewhere():
    wait(8, 7)
    launch(SPIN, 1, stream=8)
    launch("a", 100, stream=8)
    launch(SPIN, 1, stream=8)


def moves_on():
    launch("a", stream=8)
    Current.stream = 9


def late_but_ahead():
    Profile.now += 4e4
    launch("a", 5e3, stream=8)


COPY = "Memcpy DtoD (Device -> Device)"


def copies_elsewhere():
    launch(COPY, 40, stream=8)
    launch("Memcpy HtoD (Pageable -> Device)", 40, stream=8)
    launch("Memset (Device)", 40, stream=8)
    launch("a")


assert traced(moves_on) == (["a"], ["a"])
assert traced(late_but_ahead) == (["a"], ["a"])
assert traced(copies_elsewhere) == (["a"], [COPY])
assert traced(on_its_stream) == (["a", "b"], [])
assert traced(joined) == (["a"], [])
assert traced(never_waits) == (["a", "b"], ["a"])
assert traced(nobody_waits) == (["a", "b"], ["a"])
assert traced(sleeps_too) == (sorted(["a", SPIN]), [])
assert traced(sleeps_elsewhere) == (sorted(["a", SPIN]), sorted(["a", SPIN]))
assert traced(lambda: None) == ([], [])
for call in (never_waits, nobody_waits):  # of a stream that pawl holds and joins
    assert traced(call, known=8) == (["a", "b"], []), call

# A profiler that says nothing of pawl's own kernels knows nothing of others.
Framework()
launch("a")
Profile.on = True
launch("b")
Profile.on = False
assert outside(Profile.ran, "spin_kernel") == ([], [])
