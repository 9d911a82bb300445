"""What each stage's result must be: the bounds of docs/performance.md."""

FIRST_SAMPLE_S, WALL_PER_SAMPLE = 0.8, 2
AGREE, AGREE_US = 0.02, 1  # a share, or microseconds
SPREAD_PCT, SPREAD_OF = 3, ("scale/long", "fma/medium", "fma/long")  # the kernels over 50 us
SANDBOX, SANDBOX_KERNEL = 0.003, 0.01  # of all pairs, of one kernel's
SWEEP_S, SWEEP_CONFIGS, SWEEP_RIVALS = 60, 10, 5
MATRIX_S, MATRIX_CASES = 10, 27
TEN_S, FOURTEEN_S = 20, 20  # after the build
TOOLS = {"memcheck", "racecheck", "synccheck", "initcheck"}
DEMO_S, DEMO_CHAPTERS = 120, 6
WHY_S, WHY_METRICS = 10, 100  # of one config, with the counters that pawl reads
RIVAL_CASES = 8  # four configs in two types, for every backend
PLAIN = {"events": 1.3, "wall": 2}  # pawl's median and a plain timing: one over the other, either way
SLOWER = 0.2
UNCHANGED = {"cupy_elementwise"}  # in which no change is planted
CURVE = {"decisions": 1000, "passes": 0.02, "fails": 0.04, "far": 0.05, "undecided": 0.05, "behind": 0.01}  # of the first kernel; levels that always pass, that never pass, that are always decided; shares


def agree(ours, theirs):
    """Reports whether two times in microseconds agree."""
    return theirs > 0 and (abs(ours / theirs - 1) <= AGREE or abs(ours - theirs) <= AGREE_US)


def start(s):
    if not 0 < s["first_sample_s"]["worst"] <= FIRST_SAMPLE_S:
        yield f'the first sample came after {s["first_sample_s"]["worst"]:.2f} s'
    if len(s["per_sample"]) != 3:
        yield "wall per sample is not there for three kernels"
    for name, c in s["per_sample"].items():
        if not 0 < c["ratio"] <= WALL_PER_SAMPLE:
            yield f'{name}: a sample takes {c["ratio"]:.2f} x flush and kernel'


def agreement(s):
    if len(s) != 5:
        yield f"{len(s)} kernels of 5"
    for name, c in s.items():
        if not (abs(c["ratio"] - 1) <= AGREE or abs(c["difference_us"]) <= AGREE_US):
            yield f'{name} is {c["ratio"]:.3f} x what Nsight Compute says'


def spread(s):
    for name in SPREAD_OF:
        if not 0 < s[name]["blocked_pct"] <= SPREAD_PCT:
            yield f'{name} spreads by {s[name]["blocked_pct"]:.2f}%'


def sandbox(s):
    if len(s["by_kernel"]) != 5:
        yield "not all five kernels were measured"
    if not abs(s["median"] - 1) <= SANDBOX:
        yield f'inside / outside is {s["median"]:.4f}'
    for name, ratio in s["by_kernel"].items():
        if not abs(ratio - 1) <= SANDBOX_KERNEL:
            yield f"{name}: inside / outside is {ratio:.4f}"


def dobench(s):
    if len(s) != 2:
        yield f"{len(s)} configs of 2"
    for name, c in s.items():
        if not agree(c["pawl_us"], c["ncu_us"]):
            yield f'{name}: {c["pawl_us"]:.1f} us, Nsight Compute says {c["ncu_us"]:.1f}; switching kernels takes {c["switch_us"]:.1f}'
        net = c["clean_us"] - c["nothing_us"]  # docs/performance.md: what do_bench adds
        if not agree(c["pawl_us"], net) and not agree(c["sustained_us"], net):
            yield f'{name}: {c["pawl_us"]:.1f} us, sustained {c["sustained_us"]:.1f}; do_bench says {net:.1f} with a clean flush and less its empty function'


def sweep(s):
    if (s["configs"], s["rivals"]) != (SWEEP_CONFIGS, SWEEP_RIVALS) or s["measured"] != s["configs"] * s["rivals"]:
        yield f'{s["measured"]} measured of {s["configs"]} configs x {s["rivals"]} rivals'
    if s["right"] != s["configs"] * (s["rivals"] + 1):
        yield f'{s["right"]} of {s["configs"] * (s["rivals"] + 1)} answers were compared and right'
    if not s["seconds"] <= SWEEP_S:
        yield f'it took {s["seconds"]:.0f} s'


def matrix(s):
    if len(s) != 2:
        yield f"{len(s)} runs of 2"
    for r in s:
        if r["passed"] != MATRIX_CASES or r["failed"] or r["skipped"] or r["fault"]:
            yield f"not all {MATRIX_CASES} cases are right"
        if not r["seconds"] <= MATRIX_S:
            yield f'it took {r["seconds"]:.1f} s'


# Times as many settings as one after the other; the share of the search in which the device works; a budget of 5m.
TUNE_RATE, TUNE_BUSY, TUNE_S = 4, 0.6, 305
TUNE_WATTS = 60, 900  # idle, and more than any GPU may draw


def ten(s):
    if len(s) != 2:
        yield f"{len(s)} runs of 2"
    for i, r in enumerate(s):
        if r["maintained"] != 10:
            yield "not all ten configs are maintained"
        if i > 0 and not r["seconds"] <= TEN_S:
            yield f'run {i + 1} took {r["seconds"]:.1f} s'


def fourteen(s):
    if set(s) != {"with the builds", "shared", "apart"}:
        yield f"runs {sorted(s)}"
    for name, run in s.items():
        others = {k: v for k, v in run["verdicts"].items() if v != "maintained"}
        if len(run["verdicts"]) != 14 or others:
            yield f'{name}: {len(run["verdicts"])} kernels, not maintained: {others}'
    if "shared" in s and not s["shared"]["seconds"] <= FOURTEEN_S:
        yield f'{s["shared"]["seconds"]:.1f} s'


def selftest(s):
    if s["missed"] or s["controls_failed"] or s["mutants_killed"] < s["mutants"]:
        yield f'{s["missed"]} missed, {s["controls_failed"]} honest ones refused, {s["mutants_killed"]} of {s["mutants"]} planted mistakes found'
    if s["skipped"]:
        yield f'{s["skipped"]} skipped: ' + "; ".join(f'{one["name"]}: {one["why"]}' for one in s["subjects"] if one["outcome"] == "skipped")
    if not s["caught"] or not s["controls_passed"]:
        yield f'{s["caught"]} caught and {s["controls_passed"]} honest ones passed: nothing was tried'


def cheats(s):
    yield from selftest(s)
    if not s["mutants"]:
        yield "no planted mistake was tried"


def sanitize(s):
    if set(s["kernels"]) != {"attention_f16", "softmax"}:
        yield f'it looked at {", ".join(s["kernels"]) or "nothing"}'
    for kernel, runs in s["kernels"].items():
        if {r["tool"] for r in runs or [] if not r.get("skipped")} != TOOLS:
            yield f"{kernel}: not all tools have looked at it"
        for r in runs or []:
            if r.get("errors"):
                yield f'{kernel}: {r["tool"]} found {r["errors"]} errors'


def why(s):
    if s["code"] or s["metrics"] < WHY_METRICS:
        yield f'it ended with {s["code"]}, and {s["metrics"]} facts are known; not seen: {"; ".join(s["missing"])}'
    if len(s["kept"]) != 3 or not all(s["kept"].values()):
        yield f'kept are {s["kept"]}, and not the report and two CSV files'
    if not s["seconds"] <= WHY_S:
        yield f'it took {s["seconds"]:.1f} s'


def demo(s):
    if s["code"]:
        yield f'it ended with {s["code"]}: {s["said"][-1] if s["said"] else "nothing said"}'
    if not any("slower" in line for line in s["why"]):
        yield f'the planted slowdown is not explained: {s["why"]}'
    if s["chapters"] != DEMO_CHAPTERS:
        yield f'{s["chapters"]} chapters of {DEMO_CHAPTERS}'
    if not s["seconds"] <= DEMO_S:
        yield f'it took {s["seconds"]:.0f} s'


def rivals(s):
    if set(s["backends"]) != {"sdpa", "sdpa:flash", "sdpa:cudnn", "sdpa:efficient", "sdpa:math"}:
        yield f'it asked {", ".join(s["backends"]) or "nobody"}'
    for name, c in s["backends"].items():
        if c["wrong"] or c["unknown"]:
            yield f'{name}: {", ".join(c["wrong"] + c["unknown"])}'
        if c["right"] < RIVAL_CASES or c["missing"]:
            yield f'{name}: {c["right"]} right; refused: {", ".join(c["missing"]) or "none that it may not"}'


def framework(s):
    if not s["kernels"]:
        yield "no kernel"
    for name, k in s["kernels"].items():
        most = PLAIN[k["clock"]]
        if not 1 / most <= k["pawl_us"] / k["plain_us"] <= most:
            yield f'{name}: {k["pawl_us"]:.1f} us, and {k["plain_us"]:.1f} by a plain timing'
        if name in UNCHANGED:
            continue
        # What the host's clock times carries the host's noise, and may be left undecided.
        innocent = ("maintained", "inconclusive") if k["clock"] == "wall" else ("maintained",)
        for change, want in (("innocent", innocent), ("slower", ("regression",)), ("wrong", ("incorrect",))):
            if k[change]["verdict"] not in want:
                yield f'{name}: a change that is {change} is {k[change]["verdict"]}, not {" or ".join(want)}'
        if k["innocent"]["integrity"] != "clean":
            yield f'{name}: an honest kernel is {k["innocent"]["integrity"]}'
        if not (k["slower"]["change"] or 0) >= SLOWER:
            yield f'{name}: the planted slowdown reads {k["slower"]["change"]}'


def levels(curve):
    """Counts what was decided at every level of an operating curve."""
    for level in curve["levels"]:
        verdicts = [d["verdict"] for d in level["decisions"]]
        yield {"kernel": level["kernel"], "nominal": level["nominal"], "behind": level.get("behind_best", False), "decisions": len(verdicts), "failed": verdicts.count("regression"),
               "passed": verdicts.count("maintained") + verdicts.count("improvement"), "undecided": verdicts.count("inconclusive")}


def calibrate(s):
    clear, undecided = 0, 0
    for level in levels(s):
        fails, passes = level["nominal"] >= CURVE["fails"], level["nominal"] <= CURVE["passes"]
        if level["behind"]:  # where a tenth of the gate fails: equal code may seem to be that, seldom
            passes = False
            if level["nominal"] == 0 and level["failed"] > CURVE["behind"] * level["decisions"]:
                yield f'{level["kernel"]}: {level["failed"]} of {level["decisions"]} failed that are no slower, behind the best'
        elif passes or level["nominal"] >= CURVE["far"]:  # nearer to the gate a duet may be too coarse
            clear, undecided = clear + level["decisions"], undecided + level["undecided"]
        if (fails or passes) and (mistaken := level["failed" if passes else "passed"]):
            yield f'{level["kernel"]}: {mistaken} {"failed" if passes else "passed"} that are {level["nominal"]:.1%} slower'
    if clear and undecided / clear > CURVE["undecided"]:
        yield f"{undecided} of {clear} undecided away from the gate"
    first = s["levels"][0]["kernel"]
    made = sum(level["decisions"] for level in levels(s) if level["kernel"] == first)
    if made < CURVE["decisions"]:
        yield f'{made} decisions of {first}, {CURVE["decisions"] - made} are missing: run the stage again, it goes on'


def tunerate(s):
    if s["plain"]["failed"]:
        yield f'{s["plain"]["failed"]} of {s["plain"]["tried"]} settings failed in the simple loop: {s["plain"]["why"]}'
    plain, ours = s["plain"]["tried"] / s["plain"]["seconds"], s["pawl"]["trials"] / max(s["pawl"]["searched_s"], 1e-9)
    if not ours >= TUNE_RATE * plain:
        yield f"{60 * ours:.0f} settings a minute, and {60 * plain:.0f} one after the other"
    if not s["pawl"]["busy_s"] >= TUNE_BUSY * s["pawl"]["searched_s"]:
        yield f'the device was busy for {s["pawl"]["busy_s"]:.0f} of {s["pawl"]["searched_s"]:.0f} s'


def tuneenergy(s):
    if s["code"] != 0 or s["without"] or not s["watts"] or not s["front"]:
        yield f'exit code {s["code"]}, {len(s["watts"])} settings with a power and {s["without"]} without, {s["front"]} that no other beats'
    if odd := [w for w in s["watts"] if not TUNE_WATTS[0] <= w <= TUNE_WATTS[1]]:
        yield f"{odd[0]:.0f} W is no power of this GPU under load"
    if not s["spent_s"] <= 65:
        yield f'it took {s["spent_s"]:.0f} s'


def tuned(s):
    if s["code"] != 0 or not s["suggestions"]:
        yield f'exit code {s["code"]}, suggestions.md {s["suggestions"]}'
    if not s["spent_s"] <= TUNE_S:
        yield f'it took {s["spent_s"]:.0f} s'
    if applied := s.get("applied"):
        if applied["code"] or applied["check"] or "improvement" not in applied["verdicts"].values():
            yield f'the suggestion is applied with exit code {applied["code"]} and checked with {applied["check"]}: {applied["verdicts"]}'
    elif not s["why_not"]:
        yield "a suggestion that was not checked"


BOUNDS = dict(start=start, agreement=agreement, spread=spread, sandbox=sandbox, dobench=dobench, sweep=sweep, matrix=matrix, ten=ten, fourteen=fourteen, cheats=cheats, launchers=selftest, torch=selftest,
              sanitize=sanitize, why=why, demo=demo, rivals=rivals, triton=framework, cupy=framework, jax=framework, pytorch=framework, calibrate=calibrate,
              tunerate=tunerate, tuneenergy=tuneenergy, tunegemm=tuned, tuneattention=tuned)


def skipped(result):
    """Why a stage was not tried; "" when it was."""
    return result["skipped"] if isinstance(result, dict) and set(result) == {"skipped"} else ""


def wrong(stage, result):
    """What is wrong with a stage's result; "" when nothing is. A figure that is missing is wrong too."""
    try:
        return "; ".join(dict.fromkeys(BOUNDS[stage](result)))
    except (AttributeError, ArithmeticError, LookupError, TypeError, ValueError) as error:
        return f"a figure is missing ({type(error).__name__}: {error})"
