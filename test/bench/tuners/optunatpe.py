"""Plays Optuna's default sampler (TPE) on recorded spaces and writes what it tried.

    python3 optunatpe.py SEEDS EVALS SPACE.json.gz... >> traces.jsonl

Optuna knows no constraints between params: a setting that is not recorded is told as the slowest time so
far, and so is one that failed. Only what failed in the recording costs an evaluation; settings that are not recorded, and those that
were tried before, cost nothing. A run ends after ten times as many trials as evaluations.
"""

import gzip
import json
import math
import sys
import time

import optuna


def play(space, seed, evals):
    numbers = {tuple(config): n for n, config in enumerate(space["configs"])}
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
    seen, worst = {}, None
    began = time.time()
    for _ in range(10 * evals):
        trial = study.ask()
        # The index of a value, in the order of the values: sizes of tiles and blocks are ordered.
        config = tuple(trial.suggest_int(p, 0, len(vs) - 1) for p, vs in zip(space["params"], space["values"]))
        number = numbers.get(config)
        if number is not None:
            seen.setdefault(number)
        if number is not None and space["time"][number] is not None:
            value = math.log(space["time"][number])
            worst = value if worst is None else max(worst, value)
            study.tell(trial, value)
        elif worst is None:
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
        else:
            study.tell(trial, worst)
        if len(seen) >= evals:
            break
    return list(seen), time.time() - began


def main(seeds, evals, files):
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    for file in files:
        with gzip.open(file) as f:
            space = json.load(f)
        for seed in range(1, int(seeds) + 1):
            seq, seconds = play(space, seed, int(evals))
            line = {"space": space["name"], "strategy": "optuna/tpe", "seed": seed, "seq": seq, "seconds": round(seconds, 3)}
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:3], sys.argv[3:])
