"""What a call returned or wrote."""

import os

from .fault import Fault
from .frameworks.array import blank


def describe(value):
    shape, device = getattr(value, "shape", None), getattr(value, "device", "")
    if shape is None:
        return type(value).__name__
    return f"{type(value).__module__}.{type(value).__name__} of shape {list(shape)}" + (f" on {device}" if device else "")


def plainly(result):
    """The items of a tuple or list, as they lie there: methods of a class of its own could
    compute them now, when no clock runs."""
    for kind in (tuple, list):
        if issubclass(type(result), kind):
            return list(kind.__iter__(result))
    return None


def leave(folder, outputs):
    """Writes outputs where the worker will take them from."""
    for number, data in outputs.items():
        with open(os.path.join(folder, f"{number}.bin"), "wb") as file:
            file.write(data)
    return [{"arg": number, "path": f"{number}.bin"} for number in outputs]


class Outputs:
    """The part of a cell that looks at what calls return."""

    def results(self):
        """What the last call returned: looked at, and by argument."""
        if not self.returned:
            return {}
        result, names = self.result, ", ".join(arg["name"] for _, arg in self.returned)
        if result is None:
            raise Fault("output", f"the function returned nothing and has no parameter {names}",
                        "return the output, or take a parameter of its name and write to it")
        values = [result] if len(self.returned) == 1 else plainly(result)
        if values is None or len(values) != len(self.returned):
            raise Fault("output", f"the function must return {len(self.returned)} outputs ({names}), but returned {type(result).__name__}")
        self.seen = []
        for (_, arg), value in zip(self.returned, values):
            if self.check_result(arg, value):
                self.seen.append((arg, value))
        return {number: value for (number, _), value in zip(self.returned, values)}

    def pretend(self):
        """Memory like that which a call returns. To look at it and to poison it may
        take longer than the call, and is no part of what that takes."""
        made = [blank(self.framework, arg["dtype"], tuple(arg.get("shape") or [arg["count"]])) for _, arg in self.returned]
        self.result = made[0] if len(made) == 1 else made

    def check_result(self, arg, value):
        """Whether an output is apart from all arguments."""
        framework, name = self.framework, arg["name"]
        want = tuple(arg.get("shape") or [arg["count"]]), framework.dtype(arg["dtype"])
        got = framework.describe(value)
        if got is None:
            raise Fault("output", f"output {name} must be an array of {framework.name}, and is {describe(value)}")
        odd = framework.odd(value)
        if odd:
            raise Fault("output", f"output {name} must be a plain array of {framework.name}, and is {odd}",
                        "all elements must be computed when the function returns")
        if got != want:
            raise Fault("output", f"output {name} must be {list(want[0])} of {want[1]}, and is {list(got[0])} of {got[1]}",
                        "correct the output's shape and dtype in pawl.yaml, or the returned array")
        low, high = framework.extent(value)
        shared = [b for b in self.buffers for start, end in [framework.extent(b.value)] if low < end and start < high]
        for b in shared:
            if b.role == "in":
                raise Fault("output", f"output {name} lies in the memory of input {b.arg['name']}",
                            "return an array of its own, or give the input role: inout")
        return not shared

    def outputs(self):
        """The bytes of all outputs, by argument."""
        found = {b.number: b.value for b in self.buffers if b.role in ("out", "inout")}
        found.update(self.results())
        return {number: self.framework.tobytes(found[number]) for number in sorted(found)}
