"""Checks the cell's generator against the golden values of package oracle.

    python3 golden.py FRAMEWORK golden.json

Prints a line for every value that differs, and a last one with what was seen.
"""

import hashlib
import json
import os
import sys

sys.dont_write_bytecode = True
here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, ".."))

from _pawl_cell.buffer import Buffer
from _pawl_cell.dtype import SIZE
from _pawl_cell.fault import Fault
from _pawl_cell.frameworks import FRAMEWORKS
from _pawl_cell.generator import fill, key_of


def main(name, path):
    try:
        framework = FRAMEWORKS[name]({})
    except Fault as fault:
        print("skip:", fault)
        return
    with open(path) as file:
        golden = json.load(file)
    wrong = 0
    for key in golden["keys"]:
        if f"{key_of(key['seed'], key['arg'], key['batch']):016x}" != key["key"]:
            wrong += 1
            print("key", key)
    seen = 0
    # In small chunks too, so that what is drawn does not depend on where one begins.
    for chunk in (framework.chunk, 97):
        framework.chunk = chunk
        for case in golden["fills"]:
            size = SIZE[case["dtype"]]
            raw = framework.raw(framework.empty(case["count"] * size), size)
            fill(framework, raw, case["dtype"], case["kind"], case["args"], int(case["key"], 16))
            seen += 1
            if hashlib.sha256(framework.tobytes(raw)).hexdigest() != case["sha256"]:
                wrong += 1
                print("fill", case["dtype"], case["kind"], case["args"], [f"{x & (1 << 8 * size) - 1:0{2 * size}x}" for x in raw[:6].tolist()], case["head"])
    for case in golden["changes"]:
        arg = {"name": "x", "dtype": case["dtype"], "count": case["count"], "init": case["kind"], "params": case["args"]}
        try:
            buffer = Buffer(framework, 0, arg)
        except Fault:
            continue  # this framework has no arrays of that type
        buffer.fill(int(case["key"], 16))
        seen += 1
        if buffer.changes():
            buffer.plan(1, case["steps"])
            for i in range(case["steps"]):
                buffer.step(i)
            buffer.stepped(case["steps"])
        data = framework.tobytes(buffer.flat)
        if hashlib.sha256(data).hexdigest() != case["sha256"] or buffer.changed() or framework.tobytes(buffer.value) != data:
            wrong += 1
            print("changes", case)
    print(f"ok: {seen} buffers with {framework.runtime()}, {wrong} wrong")


main(*sys.argv[1:])
