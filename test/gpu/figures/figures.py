"""Measures what docs/performance.md says of pawl on a GPU, and prints it as a table.

Usage: figures.py PAWL WORKDIR STAGE…   the stages are those of STAGES below; table prints what there is
Each stage leaves WORKDIR/<stage>.json, unless something in it is out of its bounds (bounds.py), and is not run again while that is there.
One that cannot be tried here leaves WORKDIR/<stage>.skipped and exits 77, unless PAWL_REQUIRE names it (or all).
"""
import csv, io, json, os, shutil, statistics, subprocess, sys, threading, time

import bounds, frameworks, sdpa_time
from table import table

PAWL, WORK = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
HERE = os.path.dirname(os.path.abspath(__file__))
ROWS = ["scale/short", "scale/medium", "scale/long", "fma/medium", "fma/long"]
ENV = dict(os.environ, XDG_CACHE_HOME=os.path.join(WORK, "cache"), NO_COLOR="1")


def bench(*args, cwd=None, check=True):
    began = time.time()
    done = subprocess.run([PAWL, "bench", "--json", *args], cwd=cwd or WORK + "/figures", env=ENV, capture_output=True, text=True)
    if check and done.returncode != 0:
        raise SystemExit(f"pawl bench {args}: {done.returncode}\n{done.stderr}{done.stdout[-2000:]}")
    report = json.loads(done.stdout)
    report["began"], report["wall"] = began, time.time() - began
    return report


def rows(report):
    return {f'{r["kernel"]}/{r["config"]}': r for r in report["rows"]}


def kept(row):
    samples = row["timing"]["samples"]
    dropped = samples.get("dropped") or []
    last = max([d["to"] for d in dropped], default=0)
    return samples["seconds"][last:]


def percentile(values, p):
    values = sorted(values)
    return values[int(p * (len(values) - 1))]


def plain():
    out = subprocess.run([WORK + "/plain"], capture_output=True, text=True, check=True).stdout
    return {d["name"]: d for d in map(json.loads, out.splitlines())}


def when(stamp):
    from datetime import datetime
    text = stamp.replace("Z", "+00:00")
    head, _, tail = text.partition(".")
    digits, zone = (tail[:-6], tail[-6:]) if tail else ("0", "")
    return datetime.fromisoformat(f"{head}.{digits[:6]:0<6}{zone}").timestamp()


def start():
    bench("scale/medium", "--budget", "50ms")
    first = []
    for _ in range(5):
        report = bench("scale/medium", "--budget", "50ms")
        first.append(when(rows(report)["scale/medium"]["timing"]["first_sample"]) - report["began"])
    flush = plain()["flush"]["median"] * 1e-6
    cost = {}
    for name in ["scale/medium", "fma/medium", "fma/long"]:
        walls = []
        for count in (200, 1200):
            row = rows(bench(name, "--min-samples", str(count), "--max-samples", str(count), "--budget", "60s"))[name]
            walls.append(row["timing"]["wall_s"])
        median = row["timing"]["stats"]["median"]
        cost[name] = {"wall_us": (walls[1] - walls[0]) / 1000 * 1e6, "flush_and_kernel_us": (flush + median) * 1e6}
        cost[name]["ratio"] = cost[name]["wall_us"] / cost[name]["flush_and_kernel_us"]
    return {"first_sample_s": {"median": statistics.median(first), "worst": max(first)}, "flush_us": flush * 1e6, "per_sample": cost}


def ncu():
    out = subprocess.run(["ncu", "--metrics", "gpu__time_duration.sum", "--clock-control", "none", "--cache-control", "all", "--csv", "--print-units", "base",
                          WORK + "/plain", "bare"], capture_output=True, text=True)
    lines = [l for l in out.stdout.splitlines() if l.startswith('"')]
    values = [float(r["Metric Value"].replace(",", "")) * 1e-9 for r in csv.DictReader(io.StringIO("\n".join(lines)))]
    if len(values) != 12 * len(ROWS):
        raise SystemExit(f"ncu gave {len(values)} values\n{out.stdout[-1500:]}{out.stderr[-1500:]}")
    return {name: statistics.median(values[12 * i + 2:12 * i + 12]) for i, name in enumerate(ROWS)}


def agreement(rounds=5):
    ratios, differences = {n: [] for n in ROWS}, {n: [] for n in ROWS}
    for _ in range(rounds):
        theirs = ncu()
        ours = rows(bench("--budget", "100ms"))
        for name in ROWS:
            median = ours[name]["timing"]["stats"]["median"]
            ratios[name].append(median / theirs[name])
            differences[name].append((median - theirs[name]) * 1e6)
    return {n: {"ratio": statistics.median(ratios[n]), "low": min(ratios[n]), "high": max(ratios[n]),
                "difference_us": statistics.median(differences[n]), "rounds": rounds} for n in ROWS}


def spread():
    out = {}
    theirs = plain()
    for name, row in rows(bench("--min-samples", "400", "--max-samples", "400")).items():
        values = kept(row)
        median = statistics.median(values)
        mine = (percentile(values, 0.95) - percentile(values, 0.05)) / median
        other = (theirs[name]["p95"] - theirs[name]["p5"]) / theirs[name]["median"]
        out[name] = {"median_us": median * 1e6, "blocked_pct": 100 * mine, "plain_pct": 100 * other, "plain_median_us": theirs[name]["median"]}
    return out


def sandbox(pairs=5):
    ratios = {n: [] for n in ROWS}
    for i in range(pairs):
        order = ["--require-sandbox", "--no-sandbox"]
        got = {}
        for flag in order if i % 2 == 0 else reversed(order):
            got[flag] = rows(bench(flag, "--budget", "100ms"))
        for name in ROWS:
            ratios[name].append(got[order[0]][name]["timing"]["stats"]["median"] / got[order[1]][name]["timing"]["stats"]["median"])
    every = [statistics.median(r) for r in ratios.values()]
    return {"pairs": pairs, "by_kernel": {n: statistics.median(r) for n, r in ratios.items()}, "median": statistics.median(sum(ratios.values(), [])),
            "low": min(every), "high": max(every)}


SWEEP = [f"attention_f16/{c}" for c in ("training_512", "training_1k", "inference_2k", "inference_4k", "b16_h8_s448", "b16_h4_s512", "b32_h16_s512",
                                       "b48_h16_s640", "causal_512", "causal_2k")]


def sweep():
    """The whole command: start, build, the cells of all backends, their answers compared, samples and both reports."""
    began = time.time()
    report = bench(*SWEEP, "--against", "sdpa,sdpa:flash,sdpa:cudnn,sdpa:efficient,sdpa:math", "--budget", "100ms",
                   "-o", WORK + "/sweep.md", "-o", WORK + "/sweep.html", cwd=WORK + "/examples/cuda", check=False)
    bench_rows = report["rows"]
    took = time.time() - began
    measured = sum(1 for r in bench_rows for v in r["rivals"] if v["row"].get("timing"))
    right = sum((side.get("verification") or {}).get("passed", 0) for r in bench_rows for side in [r, *(v["row"] for v in r["rivals"])])
    return {"seconds": took, "configs": len(bench_rows), "rivals": len(bench_rows[0]["rivals"]), "measured": measured, "right": right}


BACKENDS = ["sdpa", "sdpa:flash", "sdpa:cudnn", "sdpa:efficient", "sdpa:math"]
REFUSABLE = ("grouped", "odd")


def rivals():
    """What PyTorch's backends answer: masks, scales and grouped heads in two types, against the oracle of a kernel that is none of them."""
    began = time.time()
    report = bench("f16", "bf16", "--against", ",".join(BACKENDS), "--budget", "10ms", "--min-samples", "3", "--max-samples", "10", cwd=WORK + "/figures/sdpa", check=False)
    out = {b: {"right": 0, "wrong": [], "unknown": [], "missing": [], "refused": []} for b in BACKENDS}
    for row in report["rows"]:
        name = f'{row["kernel"]}/{row["config"]}'
        for rival in row["rivals"]:
            got, side = out[rival["label"]], rival["row"]
            fault = (side.get("fault") or {}).get("cause")
            if fault == "wrong answers":
                got["wrong"].append(f'{name}: {side["fault"]["message"]}')
            elif fault == "unsupported":
                got["refused" if row["config"] in REFUSABLE else "missing"].append(f'{name}: {side["fault"]["message"]}')
            elif fault or not (side.get("verification") or {}).get("passed"):
                got["unknown"].append(f'{name}: {(side.get("fault") or {}).get("message", "its answers were not compared")}')
            else:
                got["right"] += 1
    return {"seconds": time.time() - began, "backends": out}


def matrix():
    """The fuzz matrix of the attention example, with the reference on the device: with a cold build, and once more."""
    out = []
    for _ in range(2):
        began = time.time()
        done = subprocess.run([PAWL, "fuzz", "attention_f16", "--plain", "--all", "--json"], cwd=WORK + "/examples/cuda", env=ENV, capture_output=True, text=True)
        row = json.loads(done.stdout)["rows"][0]
        found = row["verification"]
        out.append({"seconds": time.time() - began, "passed": found["passed"], "failed": found["failed"], "skipped": found["skipped"], "fault": row.get("fault")})
    return out


def selftest(*only):
    """The corpus of one kind; what is under way goes to the stage's log, with the time."""
    began = time.time()
    with subprocess.Popen([PAWL, "selftest", *only, "--json"], cwd=WORK, env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as p:
        def follow():
            for line in p.stderr:
                print(f"{time.time() - began:6.1f} {line}", end="", flush=True)
        follower = threading.Thread(target=follow)
        follower.start()
        found = json.loads(p.stdout.read())
        follower.join()
    found["seconds"] = time.time() - began
    return found


def cheats():
    subprocess.run([PAWL, "calibrate", "--roofline"], cwd=WORK, env=ENV, capture_output=True, check=True)  # for the kernel that claims too much work
    return selftest("cuda")


TEN = ["training_*", "inference_*", "b16_*", "b32_h16_s512", "b48_*", "causal_512"]


def ten():
    """Ten configs judged after a change that leaves their speed alone, twice."""
    project = WORK + "/ten"
    shutil.rmtree(project, ignore_errors=True)
    shutil.copytree(WORK + "/examples/cuda", project)
    git = ["git", "-c", "user.name=pawl", "-c", "user.email=pawl@example.com"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "base"]):
        subprocess.run([*git, *command], cwd=project, check=True)
    with open(project + "/attention.cu") as source:
        text = source.read()
    with open(project + "/attention.cu", "w") as source:
        source.write(text.replace("  const int tiles = ", "  if (seq < 0) return;\n  const int tiles = ", 1))
    runs = []
    for _ in range(2):
        began, measuring = time.time(), None
        with subprocess.Popen([PAWL, "check", *("attention_f16/" + c for c in TEN)], cwd=project, env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as p:
            for line in p.stderr:
                if measuring is None and line.startswith("measuring"):
                    measuring = time.time() - began
                print(f"{time.time() - began:6.1f} {line}", end="")
            text = p.stdout.read()
        runs.append({"seconds": time.time() - began, "verified_after": measuring, "maintained": text.count(" maintained ")})
        print(text)
    return runs


def fourteen():
    """Fourteen kernels judged after a change to all of them that leaves their speed alone: in cells that they share, and each in its own, as a
    stranger's are. The first run has the builds."""
    project = WORK + "/fourteen"
    shutil.rmtree(project, ignore_errors=True)
    shutil.copytree(WORK + "/figures/fourteen", project)
    git = ["git", "-c", "user.name=pawl", "-c", "user.email=pawl@example.com"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "base"]):
        subprocess.run([*git, *command], cwd=project, check=True)
    with open(project + "/common.h") as f:
        text = f.read()
    with open(project + "/common.h", "w") as f:
        f.write(text.replace("#define CHECK(n)", "#define CHECK(n) if ((n) < 0) return"))
    runs = {}
    for name, flags in ("with the builds", []), ("shared", []), ("apart", ["--fork"]):
        began = time.time()
        done = subprocess.run([PAWL, "check", "--json", *flags], cwd=project, env=ENV, capture_output=True, text=True)
        print(f"{name}: {time.time() - began:.1f} s\n{done.stderr[-3000:]}")
        rows_ = json.loads(done.stdout)["rows"]
        runs[name] = {"seconds": time.time() - began, "verdicts": {r["kernel"]: r.get("verdict") or (r.get("fault") or {}).get("message") for r in rows_ if r["kernel"] != "smooth_ref"}}
    return runs


def launchers():
    return selftest("launcher")


def torch():
    return selftest("python/torch_*")


def sanitize():
    began = time.time()
    done = subprocess.run([PAWL, "fuzz", "attention_f16", "softmax", "--plain", "--sample", "1", "--sanitize", "--json"], cwd=WORK + "/examples/cuda", env=ENV, capture_output=True, text=True)
    rows_ = json.loads(done.stdout)["rows"]
    return {"seconds": time.time() - began, "kernels": {r["kernel"]: r["verification"].get("sanitizer") for r in rows_}, "stderr": done.stderr[-3000:]}


def why():
    """A profile of one config, after its build; what came of it, and whether the profile is kept with the run."""
    folder = WORK + "/examples/cuda"
    one = "softmax/" + json.loads(subprocess.run([PAWL, "bench", "softmax", "--json", "--budget", "100ms"], cwd=folder, env=ENV, capture_output=True, text=True).stdout)["rows"][0]["config"]
    began = time.time()
    done = subprocess.run([PAWL, "profile", one, "--json", "-o", WORK + "/profile/"], cwd=folder, env=ENV, capture_output=True, text=True)
    took = time.time() - began
    print(done.stderr)
    found = json.loads(done.stdout)["rows"][0]["why"][0]
    print(subprocess.run([PAWL, "advise", one, "-v"], cwd=folder, env=ENV, capture_output=True, text=True).stdout)
    kept = (found.get("profiler") or {}).get("files") or []
    return {"seconds": took, "code": done.returncode, "metrics": len(found["versions"][0]["metrics"]), "findings": [f["id"] for f in found["versions"][0]["findings"]],
            "missing": [f"{limit['message']}" for limit in found.get("limits") or []], "kept": {name: os.path.getsize(f"{WORK}/profile/{name}") for name in kept}}


def demo():
    began = time.time()
    done = subprocess.run([PAWL, "demo"], cwd=WORK, env=ENV, capture_output=True, text=True)
    print(done.stdout)
    return {"seconds": time.time() - began, "code": done.returncode, "chapters": done.stdout.count("  exit code "), "why": [line.strip() for line in done.stdout.splitlines() if line.startswith("  why ")], "said": done.stderr.strip().splitlines()[-3:]}


def tuned(report):
    """What a search came to, of its report."""
    t = report["tuning"]
    found = next((f for f in t.get("finalists") or [] if not f.get("fault")), None)
    failed = {}
    for trial in t["trials"]:
        if not trial.get("cost"):
            failed[trial["status"]] = failed.get(trial["status"], 0) + 1
    return {"trials": len(t["trials"]), "ended": t["ended"], "spent_s": t["spent_s"], "failed": failed, "best": found and found["params"], "overall": found and found["overall"], "why_not": t.get("no_suggestion"),
            "searched_s": t["trials"][-1]["at_s"] - t["trials"][0]["at_s"], "busy_s": t["device_busy_s"], "launches_s": t.get("launch_busy_s")}


def tuneenergy():
    """A search for time and energy: what a launch needs of both, of all settings that work."""
    found = tune("gemm/square_4k", "1m", "--objective", "both", cache="cache-tune")
    with open(WORK + "/tune-gemm-square_4k/report.json") as f:
        t = json.load(f)["tuning"]
    ok = [on for trial in t["trials"] if trial["status"] == "ok" for on in trial["on"]]
    return dict(found, front=len(t.get("front") or []), watts=[on["joules"] / on["median_s"] for on in ok if on.get("joules")], without=sum(not on.get("joules") for on in ok))


def project():
    """The examples as a repository of their own, where what a search suggests can be applied and checked."""
    folder = WORK + "/tuned"
    if not os.path.exists(folder + "/.git"):
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(WORK + "/examples", folder, ignore=shutil.ignore_patterns(".pawl"))
        for command in ("init -q", "add -A", "-c user.name=figures -c user.email=figures@localhost commit -q -m examples"):
            subprocess.run(["git", *command.split()], cwd=folder, check=True)
    return folder + "/cuda"


def tune(kernel, budget, *flags, cache="cache"):
    """A search on this GPU; its report and suggestions are kept in WORKDIR/tune-KERNEL."""
    folder, env = WORK + "/tune-" + kernel.replace("/", "-"), dict(ENV, XDG_CACHE_HOME=f"{WORK}/{cache}")
    done = subprocess.run([PAWL, "tune", kernel, "--budget", budget, "--json", "-o", folder + "/", *flags], cwd=project(), env=env, capture_output=True, text=True)
    print(done.stderr[-3000:])
    if not done.stdout:
        raise SystemExit(f"pawl tune ended with {done.returncode}: {done.stderr[-800:]}")
    return dict(tuned(json.loads(done.stdout)), code=done.returncode, suggestions=os.path.exists(folder + "/suggestions.md"))


def tuneandcheck(kernel):
    """A search of five minutes; what it suggests becomes the defaults, and a check judges that like any other change."""
    found, folder = tune(kernel, "5m"), WORK + "/tune-" + kernel
    if found["why_not"] or not found["best"]:
        return found
    applied = subprocess.run([PAWL, "tune", kernel, "--last", "--apply"], cwd=project(), env=ENV, capture_output=True, text=True)
    diff = subprocess.run(["git", "diff"], cwd=project(), capture_output=True, text=True).stdout
    check = subprocess.run([PAWL, "check", kernel, "--json", "-o", folder + "/check.md", "-o", folder + "/check.html"], cwd=project(), env=ENV, capture_output=True, text=True)
    print(applied.stdout, applied.stderr, diff, check.stderr[-3000:])
    verdicts = {f'{r["kernel"]}/{r["config"]}': r.get("verdict") for r in json.loads(check.stdout)["rows"]} if check.stdout else {}
    subprocess.run(["git", "checkout", "-q", "."], cwd=project(), check=True)
    return dict(found, applied={"code": applied.returncode, "check": check.returncode, "diff": diff, "verdicts": verdicts})


def tunerate():
    """Settings a minute, of which nothing is compiled before: as simple tuners try them, and by pawl."""
    shutil.rmtree(WORK + "/cache-tune", ignore_errors=True)
    done = subprocess.run([sys.executable, WORK + "/figures/sequential.py", WORK + "/examples/cuda/gemm.cu", "60"], capture_output=True, text=True)
    print(done.stderr[-3000:])
    if done.returncode:
        raise SystemExit(f"sequential.py ended with {done.returncode}: {done.stderr[-500:]}")
    plain = json.loads(done.stdout)
    return {"plain": plain, "pawl": tune("gemm/square_4k", "90s", "--strategy", "random", cache="cache-tune")}


def calibrate():
    """The operating curve, as far as it is after eight more minutes: what was decided before is kept in WORKDIR/cache."""
    done = subprocess.run([PAWL, "calibrate", "--for", "8m", "--json"], cwd=WORK, env=ENV, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(f"pawl calibrate ended with {done.returncode}")
    return json.loads(done.stdout)


STAGES = dict(start=start, agreement=agreement, spread=spread, sandbox=sandbox, dobench=lambda: sdpa_time.dobench(WORK, bench, rows), sweep=sweep, rivals=rivals, matrix=matrix, ten=ten, fourteen=fourteen, cheats=cheats, launchers=launchers,
              torch=torch, sanitize=sanitize, why=why, demo=demo, calibrate=calibrate,
              tunerate=tunerate, tuneenergy=tuneenergy, tunegemm=lambda: tuneandcheck("gemm"), tuneattention=lambda: tuneandcheck("attention_f16"),
              **{name: lambda name=name: frameworks.measure(name, PAWL, WORK, ENV) for name in frameworks.KERNELS})
SKIPPED = 77


def results():
    found = {}
    for stage in STAGES:
        for kept in (".skipped", ".json"):
            if os.path.exists(f"{WORK}/{stage}{kept}"):
                with open(f"{WORK}/{stage}{kept}") as f:
                    found[stage] = json.load(f)
    return found


def required(stage):
    return {stage, "all"} & set(os.environ.get("PAWL_REQUIRE", "").replace(",", " ").split())


def fault(stage, result):
    """What is wrong with a stage's result; "" when nothing is."""
    if why := bounds.skipped(result):
        return f"required, and not there: {why}" if required(stage) else ""
    return bounds.wrong(stage, result)


def settle(stage):
    """Measures, and keeps a right result for good; a wrong one only to be looked at."""
    result = STAGES[stage]()
    found = fault(stage, result)
    skipped = "" if found else bounds.skipped(result)
    with open(f"{WORK}/{stage}.tmp", "w") as f:
        json.dump(result, f, indent=1)
    os.rename(f"{WORK}/{stage}.tmp", f"{WORK}/{stage}." + ("wrong" if found else "skipped" if skipped else "json"))
    if found:
        tell(stage, result)
        sys.exit(f"{stage}: {found}")
    if os.path.exists(f"{WORK}/{stage}.skipped") and not skipped:
        os.remove(f"{WORK}/{stage}.skipped")
    if skipped:
        print(f"{stage}: {skipped}")
        sys.exit(SKIPPED)


def tell(stage, result):
    """Prints a stage's part of the table; returns which figure that takes is missing."""
    try:
        table({stage: result})
    except (AttributeError, ArithmeticError, LookupError, TypeError, ValueError) as error:
        return f"a figure is missing ({type(error).__name__}: {error})"
    return ""


def show():
    """Prints the table. Results that were kept are held to the bounds again."""
    wrong = []
    for stage, result in results().items():
        untold = tell(stage, result)
        if why := fault(stage, result) or untold:
            wrong.append(f"{stage}: {why}")
    if wrong:
        sys.exit("\n".join(wrong))


for stage in sys.argv[3:]:
    if stage == "table":
        show()
    elif not os.path.exists(f"{WORK}/{stage}.json"):
        settle(stage)
