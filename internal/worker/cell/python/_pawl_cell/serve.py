"""Requests, one after the other."""

import faulthandler
import os
import queue
import threading

from .cell import Cell
from .fault import Fault
from .wire import REPLIES, REQUESTS, flush_output, receive, send


def main():
    for descriptor in (REQUESTS, REPLIES):
        os.set_inheritable(descriptor, False)
    faulthandler.enable(all_threads=False)
    send(0, "hello", {"protocol": "1.4", "cell": "python", "pid": os.getpid()})
    incoming = queue.SimpleQueue()
    threading.Thread(target=receive, args=(incoming,), daemon=True).start()
    cell = Cell()
    while True:
        frame = incoming.get()
        op, request, body, blob = frame["op"], frame.get("body") or {}, None, None
        try:
            if op == "ping":
                pass
            elif op == "load":
                body = cell.guarded(cell.load, request)
            elif op == "prepare":
                body = cell.guarded(cell.prepare, request)
            elif op == "sample":
                with inference(cell):
                    body, blob = cell.guarded(cell.sample, request)
            elif op == "run":
                with inference(cell):
                    body = cell.guarded(cell.run, request)
            elif op == "produce":
                with inference(cell):
                    body = cell.guarded(cell.produce, request)
            elif op == "profile":
                with inference(cell):
                    body = cell.guarded(cell.profile, request)
            else:
                raise Fault("protocol", f"a cell has no operation {op!r}")
        except Fault as fault:
            flush_output()
            send(frame["id"], "error", fault.body)
            continue
        flush_output()
        send(frame["id"], "ok", body, blob)


class inference:
    """PyTorch's inference mode around calls, not around the making of arguments,
    so that a function that needs gradients can still turn them on."""

    def __init__(self, cell):
        torch = getattr(cell.framework, "torch", None)
        self.mode = torch.inference_mode() if torch else None

    def __enter__(self):
        if self.mode:
            self.mode.__enter__()

    def __exit__(self, *error):
        if self.mode:
            self.mode.__exit__(*error)
