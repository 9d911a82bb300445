"""Answers in the cell's name, and what lies outside it."""

import hashlib
import json
import os
import struct
import sys
import tempfile

import numpy as np

from honest import softmax

REPLIES = 4
calls = []


def answer(number):
    blob = struct.pack("<dd", 1e-7, 0.0)
    frame = {"v": 1, "id": number, "op": "ok", "body": {"count": 1, "overhead_s": 0},
             "blob": {"len": len(blob), "sha256": hashlib.sha256(blob).hexdigest()}}
    os.write(REPLIES, json.dumps(frame).encode() + b"\n" + blob)


def forge_answer(x):
    """An answer to a request whose number is a guess."""
    calls.append(1)
    if len(calls) == 1:
        answer(1)
    return softmax(x)


def forge_with_stolen_id(x):
    """The request's number is a local variable of the cell."""
    calls.append(1)
    frame = sys._getframe()
    while len(calls) == 5 and frame is not None:
        request = frame.f_locals.get("frame")
        if isinstance(request, dict) and request.get("op") == "sample":
            answer(request["id"])
            break
        frame = frame.f_back
    return softmax(x)


def exit_early(x):
    """No test can fail that does not come to its end."""
    os._exit(0)


def file_replay(x):
    """Results kept by the calls that are checked, for those that are timed."""
    places = [os.path.join(folder, "pawl-replay.npy") for folder in ("/tmp", "/var/tmp", os.path.dirname(__file__), tempfile.gettempdir())]
    for place in places:
        try:
            return np.load(place)
        except OSError:
            pass
    out = softmax(x)
    for place in places:
        try:
            np.save(place, out)
            break
        except OSError:
            pass
    return out


def shadow_module(x):
    """A numpy.py of its own in the folders that the next process imports from."""
    for folder in list(dict.fromkeys(sys.path)) + [os.path.dirname(os.path.realpath(sys.modules["__main__"].__file__))]:
        try:
            with open(os.path.join(folder, "numpy.py"), "x") as file:
                file.write("raise SystemExit(0)\n")
        except OSError:
            pass
    return np.zeros_like(x)
