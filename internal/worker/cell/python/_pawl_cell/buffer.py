"""An argument in memory."""

from .dtype import FLOATS, SIZE
from .fault import Fault
from .generator import CHANGES, changes, changing, digest, fill, poison_of

RED = 4096  # bytes before and after every buffer that must stay as they were
RED_BYTE = 0xA5
REMEMBERED = 4096  # changed elements of an input whose first contents are remembered


class Buffer:
    """An argument in memory, between red zones. Where arrays cannot be written to,
    the function is given one that is made of it."""

    def __init__(self, framework, number, arg):
        self.framework, self.number, self.arg = framework, number, arg
        self.role, self.dtype = arg.get("role", "in"), arg["dtype"]
        if self.role == "out" or self.role == "scratch" and not arg.get("init"):
            self.init = None  # the function writes it
        else:
            self.init = (arg["init"], arg.get("params") or []) if arg.get("init") else default_fill(self.dtype)
        self.size = arg["count"] * SIZE[self.dtype]
        slack = 0 if framework.device else 2 * RED
        self.base = framework.empty(RED + self.size + RED + slack + 16)
        self.start = RED
        if slack:
            # On a page, and not all on the same place of one: equal offsets alias
            # in the store buffer.
            address = framework.address(self.base) + RED
            self.start = RED + -address % RED + (number * 320) % RED // 64 * 64
        self.data = self.base[self.start:self.start + self.size]
        self.flat = framework.raw(self.data, SIZE[self.dtype])
        self.memory = self.value = framework.view(self.data, self.dtype, arg.get("shape") or [arg["count"]])
        self.pristine = None  # bytes that an inout argument starts every call with
        self.target = self.flat  # what small changes change
        for zone in self.zones():
            zone[:] = RED_BYTE

    def fill(self, key):
        """Gives it the contents of a key, or poison."""
        if self.init is None:
            self.poison()
            return
        framework = self.framework
        fill(framework, self.flat, self.dtype, *self.init, key)
        self.key, self.before, self.after = key, {}, {}
        if not framework.in_place:
            self.value = framework.array(self.memory)
        elif self.role == "inout" and self.pristine is None:
            self.pristine = framework.clone(self.data)
            self.target = framework.raw(self.pristine, SIZE[self.dtype])
        elif self.role == "inout":
            framework.copy(self.pristine, self.data)
        elif self.role == "in":
            self.sum = digest(framework, self.data)

    # small changes, step by step

    def changes(self):
        return self.role in ("in", "inout") and changing(*self.init) is not None

    def plan(self, step, count):
        """Makes the changes of so many steps ready."""
        self.places, self.raw = changes(self.framework, self.arg["count"], self.dtype, *changing(*self.init), self.key, step, step + count)
        self.old = self.target[self.places].tolist()

    def step(self, i):
        part = slice(CHANGES * i, CHANGES * (i + 1))
        self.target[self.places[part]] = self.raw[part]
        if not self.framework.in_place:
            self.value = self.framework.changed(self.value, self.places[part], self.raw[part])

    def stepped(self, count):
        """Notes that so many of the planned steps were taken."""
        if self.role == "in" and self.framework.in_place:
            for place, old, new in list(zip(self.places.tolist(), self.old, self.raw.tolist()))[:CHANGES * count]:
                self.before.setdefault(place, old)
                self.after[place] = new
        self.places = self.raw = self.old = None

    def changed(self):
        """Whether an input no longer holds what it was given."""
        framework = self.framework
        if not framework.in_place:
            seen = framework.look(self.value).reshape(-1).view(self.flat.dtype)
            return not bool((seen == self.flat).all())
        if not self.after:
            return digest(framework, self.data) != self.sum
        # Back to where it began, to be compared with that.
        places, size = framework.integers(list(self.after), 8), SIZE[self.dtype]
        if self.flat[places].tolist() != list(self.after.values()):
            return True
        self.flat[places] = framework.integers([self.before[place] for place in self.after], size)
        same = digest(framework, self.data) == self.sum
        self.flat[places] = framework.integers(list(self.after.values()), size)
        if same and len(self.after) > REMEMBERED:
            # What it holds is known to be right: later looks begin from here.
            self.sum, self.before, self.after = digest(framework, self.data), {}, {}
        return not same

    # what a call must write, and what it must not

    def ready(self):
        if self.pristine is not None:
            self.framework.copy(self.data, self.pristine)
        elif self.role == "out":
            self.poison()

    def warm(self):
        """Brings it into the caches, as calls leave what they have worked on."""
        self.flat.max()

    def poison(self):
        self.flat[:] = poison_of(self.dtype)

    def untouched(self):
        # A few bytes may be poison by chance.
        return self.size >= 8 and self.framework.all_equal(self.flat, poison_of(self.dtype))

    def zones(self):
        end = self.start + self.size
        return self.base[self.start - RED:self.start], self.base[end:end + RED]

    def trespass(self):
        before, after = self.zones()
        name, where = self.arg["name"], ""
        if not self.framework.all_equal(before, RED_BYTE):
            first = self.framework.first_other(before, RED_BYTE)
            where = f"before the start of argument {name} ({RED - first} bytes before it)"
        elif not self.framework.all_equal(after, RED_BYTE):
            first = self.framework.first_other(after, RED_BYTE)
            where = f"past the end of argument {name} (byte {self.size + first} of {self.size})"
        if where:
            before[:] = RED_BYTE
            after[:] = RED_BYTE
            raise Fault("out of bounds", f"the kernel wrote {where}",
                        "check the kernel's index arithmetic, or the argument's shape in pawl.yaml")


def default_fill(dtype):
    if dtype in FLOATS:
        return "normal", [0, 1]
    return "integers", [-8, 8] if dtype[0] == "i" else [0, 15]
