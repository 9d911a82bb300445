"""Finds change points by apache-otava and ruptures.

    python3 rivals.py METHOD < series.json > found.json
    python3 rivals.py                                       # the methods, one a line

Reads a list of lists of numbers, writes {"found": [list of indices, one list for each series], "seconds": processor time}. otava runs with its own defaults, and as E-divisive (100 permutations, p 0.05);
ruptures by PELT, with the penalty of BIC for the scale that differences between neighbours have, and with the kernel
and the penalty of its manual.
"""

import json
import math
import sys
import time

import numpy as np
import ruptures
from otava.analysis import compute_change_points, compute_change_points_orig


def scale(values):
    diffs = np.abs(np.diff(values))
    typical = 1.4826 * np.median(diffs) / math.sqrt(2)
    return typical if typical > 0 else max(np.std(values), 1e-9)


def pelt(model, penalty):
    def find(values):
        v = np.asarray(values)
        pen = penalty(v)
        return ruptures.Pelt(model=model, min_size=2, jump=1).fit(v).predict(pen=pen)[:-1]

    return find


METHODS = {
    "apache-otava": lambda v: [c.index for c in compute_change_points(v)[0]],
    "E-divisive (otava)": lambda v: [c.index for c in compute_change_points_orig(v, max_pvalue=0.05, seed=1)[0]],
    "ruptures, PELT l2": pelt("l2", lambda v: 2 * scale(v) ** 2 * math.log(len(v))),
    "ruptures, PELT l1": pelt("l1", lambda v: scale(v) * math.log(len(v))),
    "ruptures, PELT rbf": pelt("rbf", lambda v: 10),
}

if len(sys.argv) == 1:
    print("\n".join(METHODS))
    sys.exit()
find = METHODS[sys.argv[1]]
series = json.load(sys.stdin)
began = time.process_time()
found = [sorted(int(i) for i in find(list(values))) for values in series]
json.dump({"found": found, "seconds": time.process_time() - began}, sys.stdout)
