"""Made-up results just inside of every bound are accepted, just outside of it figures.py fails."""
import copy, json, os, subprocess, sys, tempfile, unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import bounds


def selftest(mutants):
    return {"caught": 3, "suspicious": 0, "missed": 0, "controls_passed": 2, "controls_failed": 0, "mutants": mutants, "mutants_killed": mutants, "skipped": 0, "seconds": 9, "subjects": []}


def attention(**more):
    return dict({"ratio": 0.93, "low": 0.9, "high": 0.95, "clean_net_ratio": 0.99, "clean_net_low": 0.98, "clean_net_high": 1, "nothing_us": 1.3, "pawl_us": 47.8, "sustained_us": 49.9,
                 "do_bench_us": 50.9, "clean_us": 49.8, "switch_us": 1, "ncu_us": 46.85}, **more)


def ended(verdict, change=None):
    return {"verdict": verdict, "change": change, "integrity": "clean", "fault": None}


def measured(clock):
    return {"clock": clock, "plain_us": 100, "pawl_us": 90}


def framework(clock="events", innocent="maintained", **more):
    return {"seconds": 50, "kernels": {"k": dict(measured(clock), innocent=ended(innocent, 0.001), slower=ended("regression", 0.2), wrong=ended("incorrect")), **more}}


def level(nominal, kernel="fma", **verdicts):
    return {"kernel": kernel, "nominal": nominal, "decisions": [{"set": 1, "verdict": v, "change": nominal} for v, count in verdicts.items() for _ in range(count)]}


TUNED = {"trials": 40, "ended": "exhausted", "spent_s": 305, "failed": {}, "best": {}, "overall": -0.1, "why_not": None, "searched_s": 10, "busy_s": 6, "launches_s": 3, "code": 0, "suggestions": True,
         "applied": {"code": 0, "check": 0, "diff": "", "verdicts": {"k/a": "improvement", "k/b": "maintained"}}}
ROWS = ["scale/short", "scale/medium", "scale/long", "fma/medium", "fma/long"]
TOOLS = [{"tool": t, "errors": 0} for t in ("memcheck", "racecheck", "initcheck", "synccheck")]
GOOD = {
    "start": {"first_sample_s": {"median": 0.5, "worst": 0.8}, "flush_us": 60, "per_sample": {n: {"wall_us": 100, "flush_and_kernel_us": 50, "ratio": 2.0} for n in ("scale/medium", "fma/medium", "fma/long")}},
    "agreement": {n: {"ratio": 1.0199, "low": 1, "high": 1, "difference_us": 9, "rounds": 5} for n in ROWS},
    "spread": {n: {"median_us": 60, "blocked_pct": 3 if n in ROWS[2:] else 9, "plain_pct": 4, "plain_median_us": 61} for n in ROWS},
    "sandbox": {"pairs": 8, "by_kernel": {n: 1.009 for n in ROWS}, "median": 0.9971, "low": 0.99, "high": 1.009},
    "dobench": {"training_512": attention(), "inference_4k": attention(pawl_us=576, sustained_us=613, ncu_us=579, do_bench_us=619, clean_us=616)},
    "sweep": {"seconds": 60, "configs": 10, "rivals": 5, "measured": 50, "right": 60},
    "rivals": {"seconds": 30, "backends": {b: {"right": 8, "wrong": [], "unknown": [], "missing": [], "refused": ["f16/odd"]} for b in ("sdpa", "sdpa:flash", "sdpa:cudnn", "sdpa:efficient", "sdpa:math")}},
    "matrix": [{"seconds": 10, "passed": 27, "failed": 0, "skipped": 0, "fault": None} for _ in range(2)],
    "ten": [{"seconds": s, "verified_after": 5, "maintained": 10} for s in (40, 20)],
    "fourteen": {name: {"seconds": s, "verdicts": {f"k{i}": "maintained" for i in range(14)}} for name, s in (("with the builds", 90), ("shared", 20), ("apart", 90))},
    "cheats": selftest(26), "launchers": selftest(0), "torch": selftest(0),
    "sanitize": {"seconds": 9, "kernels": {"attention_f16": TOOLS, "softmax": TOOLS}},
    "why": {"seconds": 10, "code": 0, "metrics": 130, "findings": ["dram-bound"], "missing": [], "kept": {"profile-0.csv": 9, "profile-0-details.csv": 9, "profile-0.ncu-rep": 9}},
    "demo": {"seconds": 120, "code": 0, "chapters": 6, "why": ["why softmax/rows is slower: it moves more"], "said": []},
    "triton": framework(), "cupy": framework(cupy_elementwise=measured("events")), "jax": framework("wall", innocent="inconclusive"), "pytorch": framework(),
    "tunerate": {"plain": {"tried": 10, "of": 44, "failed": 0, "why": None, "seconds": 10, "best_ms": 0.3}, "pawl": dict(TUNED, trials=40, searched_s=10, busy_s=6)}, "tunegemm": TUNED, "tuneattention": TUNED,
    "tuneenergy": dict(TUNED, spent_s=65, front=2, watts=[300.0, 650.0], without=0),
    "calibrate": {"sets": 60, "levels": [level(0, maintained=300, inconclusive=15), level(0.02, maintained=260, inconclusive=15), level(0.03, regression=30, maintained=30, inconclusive=40),
                                         level(0.05, regression=200, inconclusive=10), dict(level(0, regression=1, improvement=99), behind_best=True),
                                         level(0, kernel="copy", maintained=40)]},
}
# stage, where in its result, and a value beyond the bound
BEYOND = [
    ("tunerate", "pawl.trials", 39), ("tunerate", "plain.failed", 1), ("tunegemm", "applied.check", 1), ("tuneenergy", "code", 1), ("tuneenergy", "front", 0), ("tuneenergy", "without", 1), ("tuneenergy", "watts", []), ("tuneenergy", "watts", [59.0]), ("tuneenergy", "spent_s", 66), ("tunegemm", "applied.code", 3), ("tuneattention", "applied.verdicts", {"k/c": "maintained"}), ("tuneattention", "applied", None), ("tunerate", "pawl.busy_s", 5.9), ("tunerate", "pawl.busy_s", float("nan")), ("tunegemm", "code", 1), ("tunegemm", "suggestions", False), ("tuneattention", "spent_s", 306),
    ("start", "first_sample_s.worst", 0.81), ("start", "first_sample_s.worst", float("nan")), ("start", "per_sample.fma/long.ratio", 2.01), ("start", "per_sample", {}),
    ("agreement", "fma/long.ratio", 1.021), ("agreement", "scale/short.ratio", 0.979), ("agreement", "fma/long.ratio", float("nan")), ("agreement", "", {}),
    ("spread", "scale/long.blocked_pct", 3.1), ("spread", "fma/medium.blocked_pct", 3.1), ("spread", "fma/long.blocked_pct", 3.1),
    ("sandbox", "median", 1.0031), ("sandbox", "median", 0.9969), ("sandbox", "by_kernel.fma/long", 1.011), ("sandbox", "by_kernel", {}),
    ("dobench", "training_512.ncu_us", 46.7), ("dobench", "inference_4k.ncu_us", 560), ("dobench", "inference_4k.sustained_us", 590), ("dobench", "training_512.nothing_us", 5), ("dobench", "", {}),
    ("sweep", "seconds", 60.1), ("sweep", "measured", 49), ("sweep", "right", 59), ("sweep", "configs", 9),
    ("rivals", "backends.sdpa:cudnn.wrong", ["f16/causal"]), ("rivals", "backends.sdpa.unknown", ["f16/plain"]), ("rivals", "backends.sdpa:flash.missing", ["f16/scaled"]),
    ("rivals", "backends.sdpa:math.right", 7), ("rivals", "backends", {}),
    ("matrix", "1.seconds", 10.1), ("matrix", "1.passed", 26), ("matrix", "0.failed", 1), ("matrix", "0.skipped", 1), ("matrix", "0.fault", {"cause": "crash"}), ("matrix", "", []),
    ("ten", "1.seconds", 20.1), ("ten", "0.maintained", 9), ("ten", "", []), ("ten", "", [{"seconds": 20, "verified_after": 5, "maintained": 10}]),
    ("fourteen", "shared.seconds", 20.1), ("fourteen", "apart.verdicts", {}), ("fourteen", "shared.verdicts.k7", "regression"), ("fourteen", "", {}),
    *[(stage, *change) for stage in ("cheats", "launchers", "torch") for change in (("missed", 1), ("controls_failed", 1), ("skipped", 1), ("caught", 0), ("controls_passed", 0))],
    ("cheats", "mutants_killed", 25), ("cheats", "mutants", 0),
    ("sanitize", "kernels.softmax", [dict(TOOLS[0], errors=1), *TOOLS[1:]]), ("sanitize", "kernels.softmax", TOOLS[:3]), ("sanitize", "kernels.softmax", None),
    ("sanitize", "kernels.softmax", [dict(TOOLS[0], skipped="no room"), *TOOLS[1:]]), ("sanitize", "kernels", {"softmax": TOOLS}),
    ("why", "seconds", 10.1), ("why", "code", 1), ("why", "metrics", 99), ("why", "kept", {}), ("why", "kept", {"profile-0.csv": 9, "profile-0-details.csv": 0, "profile-0.ncu-rep": 9}),
    ("demo", "why", []), ("demo", "why", ["why gemm/x is faster"]), ("demo", "code", 1), ("demo", "chapters", 5), ("demo", "seconds", 121),
    ("cupy", "kernels.cupy_elementwise.pawl_us", 131),
    *[(stage, *change) for stage in ("triton", "cupy", "jax", "pytorch") for change in (
        ("kernels.k.pawl_us", 201), ("kernels.k.pawl_us", 49), ("kernels.k.pawl_us", None), ("kernels", {}),
        ("kernels.k.innocent.verdict", "regression"), ("kernels.k.innocent.integrity", "suspicious"),
        ("kernels.k.slower.verdict", "maintained"), ("kernels.k.slower.change", 0.19), ("kernels.k.slower.change", None), ("kernels.k.wrong.verdict", "maintained"))],
    ("triton", "kernels.k.pawl_us", 131), ("triton", "kernels.k.pawl_us", 76), ("triton", "kernels.k.innocent.verdict", "inconclusive"),
    ("calibrate", "levels.0", level(0, maintained=300, regression=1)), ("calibrate", "levels.1", level(0.02, maintained=300, regression=1)),
    ("calibrate", "levels.4", dict(level(0, regression=2, maintained=98), behind_best=True)), ("calibrate", "levels.5.decisions", level(0, maintained=40, regression=1)["decisions"]),
    ("calibrate", "levels.3", level(0.05, kernel="copy", regression=210)), ("calibrate", "levels.2", level(0.04, regression=100, maintained=1)),
    ("calibrate", "levels.4", dict(level(0.04, regression=100, maintained=1), behind_best=True)),
    ("calibrate", "levels.3", level(0.05, regression=250, maintained=1)), ("calibrate", "levels.3", level(0.05, regression=250, improvement=1)),
    ("calibrate", "levels.3", level(0.05, regression=209)), ("calibrate", "levels.0", level(0, maintained=300, inconclusive=30)), ("calibrate", "levels", []),
]


GONE = object()


def changed(result, path, value):
    if not path:
        return value
    result, keys = copy.deepcopy(result), [int(k) if k.isdigit() else k for k in path.split(".")]
    at = result
    for key in keys[:-1]:
        at = at[key]
    if value is GONE:
        del at[keys[-1]]
    else:
        at[keys[-1]] = value
    return result


class Bounds(unittest.TestCase):
    def setUp(self):
        self.work = tempfile.TemporaryDirectory()
        self.addCleanup(self.work.cleanup)

    def judged(self, results, kept="json", **environment):
        for stage, result in results.items():
            with open(f"{self.work.name}/{stage}.{kept}", "w") as f:
                json.dump(result, f)
        done = subprocess.run([sys.executable, "-B", HERE + "/figures.py", "pawl", self.work.name, "table"], capture_output=True, text=True, env=dict(os.environ, **environment))
        self.assertNotIn("Traceback", done.stderr)
        return done

    def test_every_stage_has_bounds(self):
        self.assertEqual(set(GOOD), set(bounds.BOUNDS))
        self.assertEqual({stage for stage, _, _ in BEYOND}, set(GOOD))

    def test_inside(self):
        done = self.judged(GOOD)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for stage, result in GOOD.items():
            self.assertEqual(bounds.wrong(stage, result), "", stage)

    def test_beyond(self):
        for stage, path, value in BEYOND:
            self.assertTrue(bounds.wrong(stage, changed(GOOD[stage], path, value)), f"{stage} {path} {value}")

    def test_missing(self):
        for stage, path in {(stage, path) for stage, path, _ in BEYOND if path}:
            self.assertTrue(bounds.wrong(stage, changed(GOOD[stage], path, GONE)), f"{stage} without {path}")

    def test_exit(self):
        """One at a time, so that each alone fails the whole."""
        for stage, path, value in {stage: (stage, path, value) for stage, path, value in BEYOND}.values():
            with self.subTest(stage):
                done = self.judged(dict(GOOD, **{stage: changed(GOOD[stage], path, value)}))
                self.assertEqual(done.returncode, 1, done.stdout)
                self.assertRegex(done.stderr, f"^{stage}: .*\n$")

    def test_skipped(self):
        skipped = {"skipped": "ModuleNotFoundError: no jax"}
        done = self.judged({"jax": skipped}, "skipped")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, "jax .*skipped: .*no jax .*not tried")
        for names in ("jax", "cupy, jax", "all"):
            done = self.judged({"jax": skipped}, "skipped", PAWL_REQUIRE=names)
            self.assertEqual(done.returncode, 1)
            self.assertIn("jax: required, and not there: ", done.stderr)
        self.assertEqual(self.judged({"jax": skipped}, "skipped", PAWL_REQUIRE="cupy").returncode, 0)


if __name__ == "__main__":
    unittest.main()
