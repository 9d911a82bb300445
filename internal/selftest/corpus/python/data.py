"""No function of the cell is replaced: only its variables, in the frames of its callers."""

import os
import sys
import threading

import numpy as np

from honest import softmax

job = {}


def caller(variable):
    """The variables of the nearest caller that has one of this name."""
    frame = sys._getframe(2)
    while frame is not None:
        if variable in frame.f_locals:
            return frame.f_locals
        frame = frame.f_back
    return {}


def scale_samples(x):
    """The times of earlier samples are in a list: each loses 15% once."""
    seconds = getattr(caller("ledger").get("ledger"), "seconds", None)
    if isinstance(seconds, list) and seconds:
        if job.get("list") is not seconds:
            job.update(list=seconds, done=0)
        for i in range(job["done"], len(seconds)):
            seconds[i] *= 0.85
        job["done"] = len(seconds)
    return softmax(x)


def forget_flush(x):
    """What is to be flushed is in a list, too."""
    framework = caller("framework").get("framework")
    spans = getattr(framework, "spans", None)
    if spans:
        del spans[:]
    return x.sum(axis=1)


def read_requests(x):
    """Which sample will be kept is a variable: only that one is computed."""
    variables = caller("keep")
    if "taken" in variables and variables["taken"] not in (variables["keep"], 1):
        return np.zeros_like(x)
    return softmax(x)


def after_return(frame, event, _):
    """Called by the interpreter whenever a function returns."""
    if event == "return" and frame.f_code.co_name == "on_processor" and "x" in job:
        sys.setprofile(None)
        x, out = job.pop("x"), job.pop("out")
        out[...] = softmax(x)


def profile_hook(x, out):
    """A seventh of the rows is computed when the clock has stopped."""
    middle = len(x) - len(x) // 7
    out[:middle] = softmax(x[:middle])
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_name != "on_processor":
        frame = frame.f_back
    if frame is None or middle == len(x):
        out[middle:] = softmax(x[middle:])
        return
    job.update(x=x[middle:], out=out[middle:])
    sys.setprofile(after_return)


def work():
    os.sched_setaffinity(0, range(os.cpu_count()))
    while True:
        job["begin"].wait()
        job["begin"].clear()
        job["half"][...] = softmax(job["rows"])
        job["end"].set()


def helper_thread(x, out):
    """One thread is declared; half of the rows are another's, on another core."""
    if "begin" not in job:
        job.update(begin=threading.Event(), end=threading.Event())
        threading.Thread(target=work, daemon=True).start()
    middle = len(x) // 2
    job.update(rows=x[middle:], half=out[middle:])
    job["begin"].set()
    out[:middle] = softmax(x[:middle])
    job["end"].wait()
    job["end"].clear()
