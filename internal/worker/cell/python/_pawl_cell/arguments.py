"""The arguments of a function: what it takes, how they are passed, and what they hold."""

import inspect
import math

from .buffer import Buffer
from .dtype import FLOATS, SIZE
from .fault import Fault
from .generator import FILLS, FLOAT_FILLS, f32, key_of

ONE_COPY = (1 << 40) - 1  # the bits of a batch's number; copies of the arguments are counted above them


def scalar(arg):
    dtype, text = arg["dtype"], arg.get("value", "")
    try:
        if dtype in FLOATS:
            value = float(text)
            return f32(value) if dtype != "f64" else value
        value, bits = int(text), 8 * SIZE[dtype]
        low = -(1 << (bits - 1)) if dtype[0] == "i" else 0
        if not low <= value < low + (1 << bits):
            raise ValueError("out of range")
        return value
    except (ValueError, OverflowError) as error:
        raise Fault("protocol", f"argument {arg['name']}: {dtype} value {text!r}: {error}") from None


def check_buffer(arg):
    name, kind = arg["name"], arg.get("init")
    count, shape = arg.get("count", 0), arg.get("shape")
    if not isinstance(count, int) or not 0 < count <= (1 << 46) // SIZE[arg["dtype"]] or shape and math.prod(shape) != count:
        raise Fault("protocol", f"argument {name}: {count} elements of {arg['dtype']}")
    if kind and (kind not in FILLS or FILLS[kind] != len(arg.get("params") or [])):
        raise Fault("protocol", f"argument {name}: no fill {kind} with {len(arg.get('params') or [])} numbers")
    if kind in ("rows", "outliers", "specials") and not arg["params"][2] >= 1:
        raise Fault("protocol", f"argument {name}: fill {kind} with {arg['params'][2]}")
    if kind in FLOAT_FILLS and arg["dtype"] not in FLOATS:
        raise Fault("protocol", f"argument {name}: no fill {kind} of {arg['dtype']}")


class Parameters:
    """How a function takes its arguments: those it has a parameter of that name
    for by name, the others by position in the order of pawl.yaml. Outputs and
    scratch are passed by name only. A scalar that it has no place for is left
    out: tensors know their sizes."""

    def __init__(self, function):
        self.named, self.places, self.keywords, self.several = set(), 0, False, True
        try:
            parameters = inspect.signature(function).parameters.values()
        except (ValueError, TypeError):
            return  # written in C: all by position
        self.several = False
        kinds = inspect.Parameter
        for p in parameters:
            if p.kind in (kinds.POSITIONAL_OR_KEYWORD, kinds.KEYWORD_ONLY):
                self.named.add(p.name)
            self.several |= p.kind == kinds.VAR_POSITIONAL
            self.keywords |= p.kind == kinds.VAR_KEYWORD
        self.ordered = [p for p in parameters if p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)]

    def free(self, by_name):
        """How many arguments can be given by position beside those by name."""
        if self.several:
            return math.inf
        count = 0
        for p in self.ordered:
            if p.name in by_name and p.kind != inspect.Parameter.POSITIONAL_ONLY:
                break
            count += 1
        return count


class Arguments:
    """The part of a cell that makes the arguments and hands them to the function."""

    def bind(self, m):
        """Makes the arguments, decides how each is passed, and returns the call."""
        args = self.args = m.get("args") or []
        for arg in args:
            if arg.get("dtype") not in SIZE:
                raise Fault("protocol", f"argument {arg.get('name')}: no element type {arg.get('dtype')!r}")
            if arg.get("buffer"):
                check_buffer(arg)
        by_name = set(self.params) | {a["name"] for a in args if a["name"] in self.parameters.named}
        free = self.parameters.free(by_name)
        positional, keywords = [], dict(self.params)
        for number, arg in enumerate(args):
            name, role, buffer = arg["name"], arg.get("role", "in"), None
            if arg.get("buffer"):
                in_place = self.framework.in_place
                taken = in_place and name in self.parameters.named
                if role == "out" and not taken or role == "inout" and not in_place:
                    self.returned.append((number, arg))
                if role in ("out", "scratch") and not taken:
                    continue
                buffer = self.argument(number, arg)
            value = buffer.value if buffer else scalar(arg)
            if name in self.parameters.named:
                keywords[name], slot = value, (keywords, name)
            elif len(positional) < free:
                positional.append(value)
                slot = positional, len(positional) - 1
            elif self.parameters.keywords and (buffer or not self.parameters.named):
                keywords[name], slot = value, (keywords, name)
            elif buffer:
                raise Fault("no entry", f"{self.subject()} has no parameter for argument {name}",
                            f"add a parameter {name}: the arguments are given by name, or by position in the order of pawl.yaml")
            if buffer:
                buffer.slot = slot
        self.check_call(positional, keywords)
        function = self.function
        return lambda: function(*positional, **keywords)

    def check_call(self, positional, keywords):
        """Refuses a call that lacks a parameter of the function. A decorator may have
        other parameters than the function that it wraps: then nobody knows before the call."""
        try:
            signature = inspect.signature(self.function, follow_wrapped=False)
        except (ValueError, TypeError):
            return  # written in C
        try:
            signature.bind(*positional, **keywords)
        except TypeError:
            takes = list(signature.parameters)
            has = [a["name"] for a in self.args if a.get("role", "in") not in ("out", "scratch") or a["name"] in takes] + list(self.params)
            raise Fault("no entry", f"{self.subject()} takes ({', '.join(takes)}), and pawl.yaml has {', '.join(has)}: their names must match",
                        "give each argument the name of its parameter; docs/python.md says how arguments are passed") from None

    def argument(self, number, arg):
        self.buffers.append(Buffer(self.framework, number, arg))
        return self.buffers[-1]

    def refresh(self, batch, steps):
        """Brings the arguments to a batch's contents and so many steps further, at
        the same addresses."""
        if (batch, steps) == (self.batch, self.steps):
            return
        self.batch = None
        self.fill(self.buffers, batch)
        for b in self.buffers:
            if steps and b.changes():
                b.plan(1, steps)
                for i in range(steps):
                    b.step(i)
                b.stepped(steps)
        self.batch, self.steps = batch, steps
        self.hand()

    def fill(self, buffers, batch):
        for b in buffers:
            number = (b.arg.get("draws") or b.number + 1) - 1
            b.fill(key_of(self.seed, number, batch & ONE_COPY if b.arg.get("shared") else batch))

    def stage(self, batch):
        """Has the data of another batch ready, where there are spare arrays."""
        if self.spare and self.staged != batch:
            self.staged = None
            self.fill(self.spare, batch)
            self.staged = batch

    def turn_fresh(self, batch, hot):
        """Has calls work on the data of another batch from now on: in other arrays,
        where there are spare ones."""
        if self.spare:
            self.staged = None
            self.buffers, self.spare = self.spare, self.buffers
            for b in self.buffers if hot else []:
                b.warm()
        else:
            self.check_arguments()
            self.fill(self.buffers, batch)
        self.batch, self.steps = batch, 0
        self.hand()

    def hand(self):
        """Passes on arrays that were made anew."""
        for b in self.buffers:
            container, key = b.slot
            container[key] = b.value
        if not self.framework.device:
            self.framework.spans = [self.framework.extent(b.value) for b in self.buffers]

    def ready(self):
        """Brings the arguments into the state every sample starts from. What was
        returned is poisoned: it would be right if it came back, as memory that was
        not written to or out of a cache."""
        self.release()
        for b in self.buffers:
            b.ready()

    def release(self):
        """Lets go of what the last call returned. The kernel may be told of that
        (weakref), which must not be while data is there that no call has worked on."""
        for arg, value in self.seen:
            self.framework.spoil(value, arg["dtype"])
        self.result, self.seen = None, []

    def check_arguments(self, left=None):
        """Looks for writes outside the buffers, and to inputs; also in those that were
        left for others."""
        used = self.buffers + (left or [])
        for b in used:
            b.trespass()
        for b in used:
            if b.role == "in" and b.changed():
                self.batch = None  # it needs its contents again
                if self.reference:
                    raise Fault("output", f"{self.subject()} changed its input {b.arg['name']}",
                                "an oracle only reads the kernel's inputs: compute a new array, or work on a copy")
                raise Fault("output", f"the kernel changed its input {b.arg['name']}",
                            "give an argument that the kernel writes role: out or inout in pawl.yaml")
