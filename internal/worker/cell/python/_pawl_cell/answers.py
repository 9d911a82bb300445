"""What a reference answers: nobody times it, so that it may return what is natural."""

import inspect
import os

from .dtype import NAMES, holds
from .fault import Fault
from .frameworks.array import is_array, plain
from .outputs import describe

ARRAYS = "return an array for each output, or a number for one of one element; np.array(…) makes an array of a list"


class Answers:
    """The part of a cell that takes apart what a reference answers, and says where its
    function stands."""

    def answers(self):
        """The types and bytes of a reference's answers, by argument, and which of them it
        returned. What it returns counts; an argument that it returns nothing for was written in place."""
        outputs = {n: arg for n, arg in enumerate(self.args) if arg.get("buffer") and arg.get("role") in ("out", "inout")}
        written = {b.number: b for b in self.buffers if b.number in outputs and self.framework.in_place}
        given = self.given(outputs, written)
        found = {}
        for number, arg in outputs.items():
            if number in given:
                found[number] = self.answer(arg, given[number])
            else:
                found[number] = arg["dtype"], self.framework.tobytes(written[number].value)
        return found, set(given)

    def given(self, outputs, written):
        """What was returned for which argument. A list or tuple has all outputs, or
        those that the function has no parameter for; a dict has names."""
        result, needed = self.result, [n for n in outputs if n not in written]
        if isinstance(result, dict):
            numbers = {arg["name"]: n for n, arg in outputs.items()}
            given = {numbers.get(name, name): value for name, value in result.items() if value is not None}
            if all(n in outputs for n in given) and all(n in given for n in needed):
                return given
            raise self.miscounted("a dict of " + (", ".join(map(str, result)) or "nothing"), outputs, needed)
        values = [] if result is None else list(result) if isinstance(result, (list, tuple)) else [result]
        if not needed and not any(is_array(value) for value in values):
            return {}  # all was written in place, and this says how it went
        for numbers in (list(outputs), needed):
            if len(values) == len(numbers):
                given = {n: value for n, value in zip(numbers, values) if value is not None}
                if all(n in given for n in needed):
                    return given
        if not needed and all(any(value is b.value for b in written.values()) for value in values):
            return {}  # some of the arguments themselves
        if values and not any(is_array(value) for value in values):
            text = f"a {type(result).__name__}" + (f" of {len(values)} {type(values[0]).__name__}" if isinstance(result, (list, tuple)) else "")
            raise self.miscounted(text, outputs, needed, ARRAYS)
        text = "nothing" if result is None else "1 array" if len(values) == 1 else f"{len(values)} arrays"
        raise self.miscounted(text, outputs, needed)

    def miscounted(self, returned, outputs, needed, hint="return a tuple in this order, or a dict by these names"):
        names = [f"{arg['name']} ({arg['role']})" for arg in outputs.values()]
        text = f"{self.place()} returned {returned}; expected {len(names)}: {', '.join(names)}"
        if not needed:
            text += ", or nothing if it writes to these"
        elif len(needed) < len(names):
            text += f"; or {len(needed)}: {', '.join(outputs[n]['name'] for n in needed)}, if it writes to the others"
        return Fault("output", text, hint)

    def subject(self):
        """Who an error is about: an oracle with its place, which no row has."""
        return self.place() if self.reference else "the function"

    def place(self):
        """Where the function stands, and its name."""
        code = getattr(inspect.unwrap(self.function), "__code__", None)
        name = getattr(self.function, "__name__", type(self.function).__name__)
        return f"{os.path.basename(self.file)}:{code.co_firstlineno}: {name}" if code else name

    def answer(self, arg, value):
        """An answer's type and bytes. Its type must hold every value that the kernel's
        has: a wider one is compared as it is."""
        name, want = arg["name"], arg["dtype"]
        try:
            dtype, shape, raw = plain(value)
        except (TypeError, ValueError):
            raise Fault("output", f"{self.place()} must return an array for {name}, and returned {describe(value)}", ARRAYS) from None
        if [n for n in shape if n != 1] != [n for n in arg.get("shape") or [arg["count"]] if n != 1]:
            raise Fault("output", f"{self.place()} returned {name} with shape {list(shape)}; expected {list(arg.get('shape') or [arg['count']])}",
                        "shape of the output in pawl.yaml, or what the function returns")
        if not holds(NAMES.get(dtype, ""), want):
            wider = [t for t in NAMES.values() if holds(t, want)]
            raise Fault("output", f"{self.place()} returned {name} as {dtype}, which does not hold every {want}",
                        "return " + " or ".join(wider))
        return NAMES[dtype], raw

    def called(self):
        """What an oracle is called with: it is seldom tried on exactly that."""
        if not self.reference:
            return ""
        shapes = [f"{b.arg['name']} {b.dtype}{list(b.arg.get('shape') or [b.arg['count']])}" for b in self.buffers]
        return f"the oracle is called with arrays of {self.framework.name}: " + ", ".join(shapes)
