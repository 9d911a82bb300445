"""The wire: frames to and from the worker, as docs/protocol.md has them."""

import ctypes
import hashlib
import json
import os
import sys

REQUESTS, REPLIES = 3, 4
MUTE = 98  # exit status of a cell whose reply descriptor somebody closed
MAX_FRAME = 1 << 20


def send(number, op, body=None, blob=None):
    frame = {"v": 1, "id": number, "op": op}
    if body is not None:
        frame["body"] = body
    if blob is not None:
        frame["blob"] = {"len": len(blob), "sha256": hashlib.sha256(blob).hexdigest()}
    data = memoryview(json.dumps(frame).encode() + b"\n" + (blob or b""))
    try:
        while data:
            data = data[os.write(REPLIES, data):]
    except OSError:
        os._exit(MUTE)


def receive(incoming):
    """Reads requests on a thread of its own: the end of input must be noticed
    while the kernel runs."""
    pending = b""
    while True:
        line, found, rest = pending.partition(b"\n")
        if found:
            pending = rest
            try:
                frame = json.loads(line)
                frame["v"], frame["id"], frame["op"]
            except (ValueError, KeyError, TypeError):
                os._exit(1)
            incoming.put(frame)
            continue
        part = os.read(REQUESTS, 1 << 16)
        if not part and "PAWL_CELL_PROFILER" in os.environ:
            LIBC.exit(0)  # the profiler's library notices that
        if not part or len(pending) > MAX_FRAME:
            os._exit(0 if not part else 1)
        pending += part


def flush_output():
    """Brings what the kernel printed into the log: a cell is ended by a signal."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            pass
    LIBC.fflush(None)


LIBC = ctypes.CDLL(None)
