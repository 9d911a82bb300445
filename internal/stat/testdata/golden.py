"""Writes golden.json: what NumPy and SciPy say, for the tests of package stat.

    python -m venv venv && venv/bin/pip install numpy scipy
    venv/bin/python golden.py > golden.json

Where no library has the answer it is computed here from the definition, exactly (Fraction) or by
enumeration, in ways that share nothing with the Go code.
"""

import json
import math
import sys
from fractions import Fraction

import numpy as np
import scipy
from scipy import stats

rng = np.random.default_rng(20261115)


def lognormal(n, sigma=0.2, decimals=None):
    x = rng.lognormal(0, sigma, n)
    return np.round(x, decimals) if decimals is not None else x


def student():
    rows = []
    for df in (1, 2, 3, 4, 7, 11, 29, 100, 1000, 2000, 1e4, 1e6):
        for p in (1e-8, 1e-4, 0.005, 0.025, 0.2, 0.3, 0.49, 0.5, 0.6, 0.8, 0.95, 0.975, 0.995):
            rows.append({"p": p, "df": df, "quantile": stats.t.ppf(p, df)})
    return rows


def middle_pmf(n):
    """P(lower middle rank = i, upper = j) of n draws from n, as a Fraction over n**n."""
    k = (n + 1) // 2
    binomial = math.comb
    lower = []  # P(k-th smallest <= i)
    for i in range(n):
        below = i + 1
        lower.append(sum(binomial(n, m) * below**m * (n - below) ** (n - m) for m in range(k, n + 1)))
    single = [lower[i] - (lower[i - 1] if i else 0) for i in range(n)]
    if n % 2 == 1:
        return {(i, i): Fraction(single[i], n**n) for i in range(n)}
    pmf = {}
    for i in range(n):
        apart = 0
        for j in range(i + 1, n):
            ways = binomial(n, k) * ((i + 1) ** k - i**k) * ((n - j) ** (n - k) - (n - j - 1) ** (n - k))
            apart += ways
            pmf[i, j] = Fraction(ways, n**n)
        pmf[i, i] = Fraction(single[i] - apart, n**n)
    return pmf


def bootstrap_exact(samples):
    s = sorted(float(x) for x in samples)
    outcomes = sorted(((s[i] + s[j]) / 2, p) for (i, j), p in middle_pmf(len(s)).items())
    ends = []
    for level in (Fraction(25, 1000), Fraction(975, 1000)):
        total = Fraction(0)
        for value, p in outcomes:
            total += p
            if total >= level:
                ends.append(value)
                break
    return ends


def bootstraps():
    rows = []
    for n in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 15, 16, 30, 31, 64, 99, 100):
        for decimals in (None, 1):
            x = lognormal(n, decimals=decimals)
            low, high = bootstrap_exact(x)
            row = {"samples": list(x), "low": low, "high": high}
            if n >= 30 and decimals is None:
                r = stats.bootstrap((x,), np.median, n_resamples=200_000, batch=1000, method="percentile", vectorized=True, rng=rng)
                row["scipy"] = list(r.confidence_interval)
            rows.append(row)
    return rows


def pmfs():
    return [{"n": n, "p": [[i, j, float(p)] for (i, j), p in middle_pmf(n).items()]} for n in (1, 2, 3, 4, 5, 8, 17, 20)]


def exact_with_ties(a, b):
    """By enumeration of all ways to deal the pooled samples."""
    r = stats.permutation_test((a, b), lambda x, y: stats.mannwhitneyu(x, y, method="asymptotic").statistic, n_resamples=np.inf, vectorized=False)
    return r.pvalue


def two_lists():
    rows = []
    for n, m in ((1, 1), (1, 2), (2, 3), (4, 4), (5, 5), (3, 8), (8, 3), (6, 7), (8, 30), (30, 7), (40, 60), (50, 50), (100, 100), (8, 2000)):
        for decimals in (None, 1):
            for shift in (1.0, 1.15):
                if n * m > 10_000 and (decimals or shift > 1):
                    continue
                a, b = lognormal(n, decimals=decimals), lognormal(m, decimals=decimals) * shift
                if decimals:
                    b = np.round(b, decimals)
                tied = len(set(a) | set(b)) < n + m
                asymptotic = stats.mannwhitneyu(a, b, method="asymptotic")
                row = {
                    "a": list(a),
                    "b": list(b),
                    "u": asymptotic.statistic,
                    "asymptotic": asymptotic.pvalue,
                    "less": stats.mannwhitneyu(a, b, method="asymptotic", alternative="less").pvalue,
                    "greater": stats.mannwhitneyu(a, b, method="asymptotic", alternative="greater").pvalue,
                    "auto": stats.mannwhitneyu(a, b).pvalue,
                    "delta": float(np.sign(np.subtract.outer(b, a)).mean()),
                    "shift": float(np.median(np.subtract.outer(b, a))),
                }
                if not tied and n * m <= 20_000:
                    row["exact"] = stats.mannwhitneyu(a, b, method="exact").pvalue
                elif tied and n + m <= 13:
                    row["exact"] = exact_with_ties(a, b)
                rows.append(row)
    return rows


def equivalence_lists():
    rows = []
    for n, m in ((6, 7), (60, 80)):
        for shift in (1.0, 1.02, 1.2):
            a, b = lognormal(n, 0.05), lognormal(m, 0.05) * shift
            low, high = math.log(0.9), math.log(1.1)
            above = stats.mannwhitneyu(b, a * math.exp(low), alternative="greater", method="exact" if n < 10 else "asymptotic")
            below = stats.mannwhitneyu(b, a * math.exp(high), alternative="less", method="exact" if n < 10 else "asymptotic")
            rows.append({"a": list(a), "b": list(b), "low": low, "high": high, "p": max(above.pvalue, below.pvalue)})
    return rows


def duets():
    rows = []
    for sizes in ((10,), (10, 10), (8, 8, 8, 8), (8, 9, 10, 11, 12), (16,) * 12):
        for shift in (0, 0.02, 0.031):
            cells = [list(shift + rng.normal(0, 0.003) + rng.normal(0, 0.01, k)) for k in sizes]
            medians = [float(np.median(c)) for c in cells]
            middle = float(np.median(np.concatenate(cells)))
            row = {"cells": cells, "median": middle, "sign": float(np.sign(np.concatenate(cells)).mean())}
            if len(cells) > 1:
                se, df = stats.sem(medians), len(cells) - 1
                if len(cells) >= 8:  # Yuen: a fifth trimmed at either end
                    cut = len(cells) // 5
                    winsorized = np.asarray(stats.mstats.winsorize(np.array(medians), limits=(0.2, 0.2)))
                    df = len(cells) - 2 * cut - 1
                    se = winsorized.std(ddof=1) * math.sqrt(len(cells)) / (df + 1)
                half = se * stats.t.ppf(0.975, df)
                row["low"], row["high"] = middle - half, middle + half
                bounds = math.log(0.95), math.log(1.03)
                row["tost"] = max(stats.t.sf((middle - bounds[0]) / se, df), stats.t.sf((bounds[1] - middle) / se, df))
            rows.append(row)
    return rows


def plain(x):
    if isinstance(x, dict):
        return {k: plain(v) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return [plain(v) for v in x]
    return float(x) if isinstance(x, np.floating) else x


json.dump(
    plain(
        {
            "made_by": "golden.py",
            "versions": {
                "python": sys.version.split()[0],
                "numpy": np.__version__,
                "scipy": scipy.__version__,
            },
            "student": student(),
            "bootstrap": bootstraps(),
            "middle_ranks": pmfs(),
            "two_lists": two_lists(),
            "equivalence_lists": equivalence_lists(),
            "duets": duets(),
        }
    ),
    sys.stdout,
)
print()
