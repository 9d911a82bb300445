"""Plays strategies of Kernel Tuner on recorded spaces and writes what they tried.

    python3 kerneltuner.py STRATEGY[,STRATEGY] SEEDS EVALS SPACE.json.gz... >> traces.jsonl

Every run has a search space of its own: Kernel Tuner's remembers what earlier runs have visited. Strategies
have their default options. A setting that failed costs one evaluation, as the budget of Kernel Tuner counts.
"""

import contextlib
import gzip
import json
import os
import random
import sys
import tempfile
import time
import warnings

import numpy
from kernel_tuner import tune_kernel


def cache_file(space, path):
    """Writes a recorded space as Kernel Tuner's cache file."""
    entries = {}
    for config, ms in zip(space["configs"], space["time"]):
        setting = {p: vs[i] for p, vs, i in zip(space["params"], space["values"], config)}
        entry = dict(setting, compile_time=0, verification_time=0, benchmark_time=0)
        if ms is None:
            entry.update(time="RuntimeFailedConfig", __error__="RuntimeFailedConfig")
        else:
            entry.update(time=ms, times=[ms])
        entries[",".join(str(v) for v in setting.values())] = entry
    head = {
        "device_name": "recorded", "kernel_name": "kernel", "problem_size": [1, 1], "objective": "time",
        "tune_params_keys": space["params"], "tune_params": dict(zip(space["params"], space["values"])),
    }
    with open(path, "w") as f:
        json.dump(dict(head, cache=entries), f)


def play(space, cache, strategy, seed, evals):
    names = space["params"]
    numbers = {
        tuple(vs[i] for vs, i in zip(space["values"], config)): n for n, config in enumerate(space["configs"])
    }
    random.seed(seed)
    numpy.random.seed(seed)
    began = time.time()
    with open(os.devnull, "w") as quiet, contextlib.redirect_stdout(quiet), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results, _ = tune_kernel(
            "kernel", "void kernel() {}", (1, 1), [], dict(zip(names, space["values"])), lang="C",
            restrictions=space["constraints"], strategy=strategy, strategy_options={"max_fevals": evals},
            cache=cache, simulation_mode=True,
        )
    seq = list(dict.fromkeys(numbers[tuple(r[n] for n in names)] for r in results))
    return seq[:evals], time.time() - began


def main(strategies, seeds, evals, files):
    for file in files:
        with gzip.open(file) as f:
            space = json.load(f)
        with tempfile.TemporaryDirectory() as folder:
            cache = os.path.join(folder, "cache.json")
            cache_file(space, cache)
            for strategy in strategies.split(","):
                for seed in range(1, int(seeds) + 1):
                    seq, seconds = play(space, cache, strategy, seed, int(evals))
                    line = {"space": space["name"], "strategy": "kernel_tuner/" + strategy, "seed": seed, "seq": seq, "seconds": round(seconds, 3)}
                    print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:4], sys.argv[4:])
