"""Why a request failed, and how that is said."""

import os
import sys
import traceback

DOCTOR = "pawl doctor shows what this machine has"
FOLDER = os.path.join(os.path.dirname(__file__), "")  # of this package


class Fault(Exception):
    """A reason why a request failed, as the protocol names it."""

    def __init__(self, cause, message, hint=""):
        super().__init__(message)
        self.body = {"stage": "", "cause": cause, "message": message}
        if hint:
            self.body["hint"] = hint


def missing(package):
    return Fault(
        "unsupported",
        f"{sys.executable} has no {package}",
        f"install it there ({os.path.basename(sys.executable)} -m pip install {package}), or name another Python with PAWL_PYTHON",
    )


def show(error):
    """Prints a traceback to the log, from the kernel's code on."""
    frames = error.__traceback__
    while frames is not None and (frames.tb_frame.f_code.co_filename.startswith(FOLDER) or "importlib" in frames.tb_frame.f_code.co_filename):
        frames = frames.tb_next
    traceback.print_exception(type(error), error, frames)


def last_line(error):
    return traceback.format_exception_only(type(error), error)[-1].strip().partition("\n")[0][:500]


def place(error, file):
    """Where in the kernel's module an exception arose, if it did there."""
    line = 0
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.filename == file:
            line = frame.lineno
    return f" ({os.path.basename(file)}, line {line})" if line else ""


def raised(what, error, file, device, hint=""):
    """The fault of an exception. Triton is no framework of arrays, and looks for its
    device when it is first used: that there is none is no mistake of the function's."""
    if not device and "0 active drivers" in str(error):
        return Fault("unsupported", f"Triton finds no GPU: {last_line(error)}", DOCTOR)
    return Fault("crash", f"{what} raised {last_line(error)}{place(error, file)}", hint)
