"""The cell: the operations that a worker asks for."""

import gc
import math
import os
import platform
import struct
import time

from . import profiler
from .answers import Answers
from .arguments import Arguments, Parameters
from .buffer import Buffer
from .fault import DOCTOR, Fault, last_line, missing, place, raised, show
from .frameworks import FRAMEWORKS
from .outputs import Outputs, leave
from .project import PROJECT, load_function
from .seal import Ledger, Seal, modules
from .wire import MAX_FRAME, flush_output

SPARE_MOST = 256 << 20  # bytes of arguments that are worth a second copy
PROFILED = 1000  # calls of a request that a profiler looks at, at most
WARM = 3  # calls before these
GARBAGE = 1000  # objects that calls may leave behind before cycles among them are looked for


class Cell(Arguments, Outputs, Answers):
    def __init__(self):
        self.modules = modules()
        self.framework = self.function = self.call = None
        self.reference = False

    def load(self, m):
        name = m.get("framework") or "numpy"
        if name not in FRAMEWORKS:
            raise Fault("protocol", f"no framework {name!r}")
        if ":" not in (m.get("entry") or ""):
            raise Fault("protocol", f"{m.get('entry')!r} names no function")
        PROJECT.add(m.get("dirs") or [])
        try:
            self.framework = FRAMEWORKS[name](m)
        except Fault:
            raise
        except Exception as error:
            show(error)
            raise Fault("unsupported", f"{name} does not start: {last_line(error)}", DOCTOR) from None
        on_device = self.framework.device  # before the kernel's module can say otherwise
        self.check_seal = Seal(self.framework, self).check
        self.function, self.file = load_function(m, on_device)
        self.framework.loaded()
        self.parameters = Parameters(self.function)
        self.params = m.get("params") or {}
        for param in self.params:
            if not (param in self.parameters.named or self.parameters.keywords or self.parameters.several):
                raise Fault("no entry", f"{m['entry']} has no parameter {param}",
                            "params of pawl.yaml are given as keyword arguments")
        runtime = f"Python {platform.python_version()}, {self.framework.runtime()}"
        return {"flush": self.framework.flush_name, "runtime": runtime, "on_device": on_device}

    def prepare(self, m):
        if self.function is None:
            raise Fault("protocol", "prepare before load")
        framework, self.call = self.framework, None
        self.reference = m.get("reference", False)
        self.buffers, self.spare, self.returned, self.result, self.seen = [], [], [], None, []
        self.staged = None  # the batch that the spare arrays hold and no call has worked on
        self.seed, self.batch, self.steps = m.get("seed", 0), None, 0
        framework.spans = []
        self.threads = m.get("threads", 1)
        framework.prepare(self.seed, self.threads)
        call = self.bind(m)
        self.refresh(m.get("batch", 0), 0)
        if m.get("spare") and framework.in_place and not framework.device and sum(b.size for b in self.buffers) <= SPARE_MOST:
            self.spare = [Buffer(framework, b.number, b.arg) for b in self.buffers]
            for b, twin in zip(self.buffers, self.spare):
                twin.slot = b.slot
            self.fill(self.spare, self.batch)
        reply = {"buffers": [
            {"name": b.arg["name"], "start": framework.address(b.base) + b.start, "bytes": b.size}
            for b in self.buffers + self.spare if framework.in_place
        ]}
        if m.get("cores") and not framework.device:
            try:
                os.sched_setaffinity(0, m["cores"])
                reply["pinned"] = m["cores"]
            except OSError:
                pass
        framework.synchronize()
        # What is there now stays: later collections need not look at it.
        gc.unfreeze()  # what was there before is not kept for ever
        gc.collect()
        gc.freeze()
        self.settled, self.call = 0, call
        return reply

    def once(self):
        """The call of a sample. Its result lives until the next."""
        self.result = self.call()
        return self.result

    def finished(self):
        """Waits for all that the last call began, on any stream."""
        if not self.framework.in_place:
            self.framework.jax.block_until_ready(self.result)
        self.framework.synchronize()

    def settle(self, repeat):
        """The first calls, which compile, allocate and look at what comes back."""
        if not self.settled:
            self.ready()
            self.once()
            self.finished()
            self.results()
            for b in self.buffers:
                if b.role == "out" and b.untouched():
                    raise Fault("no effect", f"the function wrote nothing to its output {b.arg['name']}",
                                "a parameter of an output's name is to be written to; without one the returned value is taken")
            for _ in range(2):
                self.ready()
                self.once()
            self.framework.synchronize()
        if self.settled != repeat:
            self.overhead = self.framework.settle(self.once, repeat, self.ready)
            self.settled = repeat

    def touch(self):
        """Reads the inputs where nothing is called: a call would have brought them into
        the caches, and what follows it takes longer then."""
        for b in self.buffers:
            if b.role == "in":
                b.data[::64].max()

    def sample(self, m):
        if self.call is None:
            raise Fault("protocol", "launch before prepare")
        count, repeat, step = m.get("count", 0), m.get("repeat", 0), m.get("step", 0)
        if not 1 <= count <= MAX_FRAME // 16 or repeat < 1:
            raise Fault("protocol", f"{count} samples of {repeat} launches")
        self.release()
        if self.staged is None:
            gc.collect()  # never while there is new data, which gc.callbacks could work on
        gc.disable()
        try:
            return self.taken(m, count, repeat, step)
        finally:
            gc.enable()

    def taken(self, m, count, repeat, step):
        """The samples of a request."""
        batch, framework = m.get("batch", 0), self.framework
        self.refresh(batch, step - 1 if step else self.steps if batch == self.batch else 0)
        framework.begin()
        framework.unhidden = False
        self.settle(repeat)
        framework.unhidden = m.get("unhidden", False)
        forgets = 0 if framework.device else m.get("forget_bytes", 0)
        forgot = forgets > 0

        probe, probed = m.get("probe", 0) if m.get("cache") == "cold" and not framework.device else 0, None

        def ready():
            nonlocal forgot, probed
            self.ready()
            forgot = forgot and framework.forget(forgets, self.threads)
            if taken == probe:
                probed = framework.probe([framework.extent(b.value) for b in self.buffers])

        fresh, fresh_batch, turned = m.get("fresh", 0), m.get("fresh_batch", 0), 0
        if fresh_batch:
            self.stage(fresh_batch)
        changing = [b for b in self.buffers if step and b.changes()]
        for b in changing:
            b.plan(step, count)
        for b in self.spare if fresh else []:
            if step and b.changes():
                b.plan(1, count)
        cold, most, keep = m.get("cache") == "cold", m.get("max_s") or math.inf, m.get("keep", 0)
        ledger, taken, kept = Ledger(), 0, {}
        dry, counted = m.get("dry", False), m.get("counted", False)
        call = self.once
        if dry:
            call = (lambda: None) if framework.device or counted else self.touch
        begin = time.monotonic()
        try:
            for i in range(count):
                taken = i + 1
                self.release()
                if taken == fresh:
                    for b in changing:
                        b.stepped(i)
                    self.turn_fresh(fresh_batch, m.get("cache") == "hot")
                    changing, turned = [b for b in self.buffers if step and b.changes()], i
                    if not self.spare:
                        for b in changing:
                            b.plan(1, count - i)
                for b in changing:
                    b.step(i - turned)
                if changing and not framework.in_place:
                    self.hand()
                ledger.add(framework.once(call, repeat, cold, ready) / repeat)
                if dry:
                    self.pretend()
                self.results()
                if counted and cold and not framework.device:
                    framework.flush()  # what follows finds the caches as it does where nothing was called
                if taken == keep:
                    kept = self.outputs()
                if gc.get_count()[0] > GARBAGE:
                    gc.collect(0)  # calls may leave cycles behind, and requests have thousands of calls
                if time.monotonic() - begin > most:
                    break
        finally:
            for b in changing:
                b.stepped(taken - turned)
            self.steps += taken - turned if step else 0
        seconds, doubts = framework.finish(ledger.close(), repeat)
        self.check_seal()
        self.check_arguments(self.spare if 0 < fresh <= taken else None)
        reply = {"count": len(seconds), "overhead_s": self.overhead, "forgot": forgot, **doubts}
        if 0 < fresh <= taken:
            reply["fresh"] = fresh
        if probed:
            reply["flushed_s"], reply["cold_s"] = probed
        if kept:
            reply["kept"] = leave(m.get("outputs"), kept)
        return reply, b"".join(struct.pack("<dd", s, 0.0) for s in seconds)

    def run(self, m):
        if self.call is None:
            raise Fault("protocol", "launch before prepare")
        self.ready()
        self.framework.synchronize()
        start = time.perf_counter()
        for _ in range(m.get("launches", 1)):
            self.once()
        self.finished()
        elapsed = time.perf_counter() - start
        for b in self.buffers:
            b.trespass()  # inputs are hashed with the next request: the worker times this one
        return {"cell_s": elapsed}

    def produce(self, m):
        """One call outside any sample, and what it wrote."""
        if self.call is None:
            raise Fault("protocol", "launch before prepare")
        self.refresh(m.get("batch", 0), m.get("steps", 0))
        for b in self.buffers:
            if b.init is None:
                b.poison()
        self.ready()
        self.framework.synchronize()
        self.once()
        self.finished()
        types = {}
        if self.reference:
            answers, returned = self.answers()
            found = {number: raw for number, (_, raw) in answers.items()}
            types = {number: dtype for number, (dtype, _) in answers.items()}
        else:
            found = self.outputs()
        self.check_seal()
        self.check_arguments()
        reply = {"outputs": leave(m.get("outputs"), found)}
        for output in reply["outputs"]:
            if output["arg"] in types:
                output["dtype"] = types[output["arg"]]
                if output["arg"] in returned:
                    output["returned"] = True
        if m.get("trace"):
            self.ready()
            try:
                reply["kernels"], reply["outside"] = self.framework.trace(self.once)
            except Exception as error:
                show(error)  # the outputs are there all the same
        return reply

    def profile(self, m):
        """Calls where a profiler looks. Before that it is called as often as it takes to
        compile and to choose what it launches."""
        if self.call is None:
            raise Fault("protocol", "launch before prepare")
        if not self.framework.device:
            raise Fault("unsupported", f"{self.framework.name} finds no GPU here, and a profiler looks at GPUs", DOCTOR)
        if not 1 <= m.get("repeats", 1) <= PROFILED:
            raise Fault("protocol", f"{m.get('repeats')} calls to profile; at most {PROFILED}")
        for _ in range(WARM):
            self.ready()
            self.once()
            self.finished()
        for _ in range(m.get("repeats", 1)):
            self.ready()
            self.framework.synchronize()
            with profiler.looking():
                self.once()
                self.finished()
        self.check_seal()
        self.check_arguments()
        return {"launches": -1}  # nobody but the profiler knows how many kernels a call launches

    def guarded(self, operation, m):
        """Runs an operation and gives what the kernel raises its name."""
        try:
            return operation(m)
        except Fault:
            raise
        except SystemExit as error:
            flush_output()
            if self.reference:
                raise Fault("exit", f"{self.place()} raised {last_line(error)}{place(error, self.file)}",
                            "an oracle must return its answer; an exception says that it has none") from None
            code = error.code if isinstance(error.code, int) else 0 if error.code is None else 1
            os._exit(code)
        except ImportError as error:
            show(error)
            raise missing(error.name or "") if error.name else Fault("unsupported", last_line(error)) from None
        except NotImplementedError as error:
            if not str(error):
                show(error)
            raise Fault("unsupported", str(error) or "the function does not support this problem") from None
        except Exception as error:
            show(error)
            kind = type(error).__name__
            if isinstance(error, MemoryError) or kind in ("OutOfMemoryError", "CUDAOutOfMemoryError"):
                raise Fault("memory", last_line(error), "choose a smaller config, or a device with more memory") from None
            raise raised(self.subject(), error, getattr(self, "file", ""), getattr(self.framework, "device", False), self.called()) from None
