"""Measures what docs/performance.md says of pawl on a GPU, and prints it as a table.

Usage: figures.py PAWL WORKDIR STAGE…   stages: start agreement spread sandbox dobench sweep matrix ten cheats launchers torch sanitize
Each stage leaves WORKDIR/<stage>.json, unless something in it is wrong, and is not run again while that is there.
"""
import csv, io, json, os, shutil, statistics, subprocess, sys, threading, time

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
    for _ in range(7):
        report = bench("scale/medium", "--budget", "50ms")
        first.append(when(rows(report)["scale/medium"]["timing"]["first_sample"]) - report["began"])
    flush = plain()["flush"]["median"] * 1e-6
    cost = {}
    for name in ["scale/medium", "fma/medium", "fma/long"]:
        walls = []
        for count in (200, 2200):
            row = rows(bench(name, "--min-samples", str(count), "--max-samples", str(count), "--budget", "60s"))[name]
            walls.append(row["timing"]["wall_s"])
        median = row["timing"]["stats"]["median"]
        cost[name] = {"wall_us": (walls[1] - walls[0]) / 2000 * 1e6, "flush_and_kernel_us": (flush + median) * 1e6}
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


def agreement(rounds=10):
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


def sandbox(pairs=12):
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


SDPA = """
import json, sys, torch, torch.nn.functional as F
shapes = {"training_512": (32, 8, 512, 64), "inference_4k": (4, 16, 4096, 64)}
problems = {n: [torch.randn(*s, device="cuda", dtype=torch.float16) for _ in range(3)] for n, s in shapes.items()}
"""

DO_BENCH = SDPA + """
from triton.testing import do_bench, runtime
driver = runtime.driver.active
dirty = driver.clear_cache
other = torch.zeros(256 << 20, dtype=torch.int8, device="cuda")
def clean(cache):
    dirty(cache)
    other.view(torch.int64).max()
run = lambda fn: do_bench(fn, warmup=25, rep=100, return_mode="median") * 1e-3
print("ready", flush=True)
for line in sys.stdin:
    out = {}
    for n, p in problems.items():
        attend = lambda: F.scaled_dot_product_attention(*p)
        driver.clear_cache = dirty
        out[n] = run(attend)
        driver.clear_cache = clean
        out[n + " clean"] = run(attend)
    driver.clear_cache = dirty
    out["nothing"] = run(lambda: None)
    print(json.dumps(out), flush=True)
"""

BARE = SDPA + """
for _ in range(3):
    for p in problems.values(): F.scaled_dot_product_attention(*p)
torch.cuda.synchronize()
torch.cuda.cudart().cudaProfilerStart()
for p in problems.values():
    for _ in range(12): F.scaled_dot_product_attention(*p)
torch.cuda.synchronize()
torch.cuda.cudart().cudaProfilerStop()
"""


def ncu_sdpa():
    out = subprocess.run(["ncu", "--profile-from-start", "off", "--metrics", "gpu__time_duration.sum", "--clock-control", "none", "--cache-control", "all", "--csv",
                          "--print-units", "base", sys.executable, "-c", BARE], capture_output=True, text=True)
    lines = [l for l in out.stdout.splitlines() if l.startswith('"')]
    values = [float(r["Metric Value"].replace(",", "")) * 1e-9 for r in csv.DictReader(io.StringIO("\n".join(lines)))]
    if not values or len(values) % 24:
        raise SystemExit(f"ncu gave {len(values)} values\n{out.stdout[-1500:]}{out.stderr[-1500:]}")
    each = len(values) // 24  # kernels of one call
    calls = [sum(values[each * i:each * (i + 1)]) for i in range(24)]
    return {"training_512": statistics.median(calls[2:12]), "inference_4k": statistics.median(calls[14:24])}


def dobench(rounds=10, arbitrations=3):
    """do_bench counts the time of its two events, which is what it says of a function that does nothing, and flushes with writes alone, so that
    their lines must leave the cache while the kernel runs. So it is asked a second time with a flush that reads afterwards, and Nsight Compute is
    asked who is right."""
    configs = ["training_512", "inference_4k"]
    other = subprocess.Popen([sys.executable, "-c", DO_BENCH], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    other.stdout.readline()
    got = {c: {"pawl": [], "sustained": [], "do_bench": [], "clean": [], "ncu": []} for c in configs}
    nothing = []

    def pawl(into, *flags):
        report = bench(*[f"attention_f16/{c}" for c in configs], "--against", "sdpa", *flags, cwd=WORK + "/examples/cuda", check=False)
        for name, row in rows(report).items():
            got[name.split("/")[1]][into].append(row["rivals"][0]["row"]["timing"]["stats"]["median"])
    for i in range(rounds):
        other.stdin.write("go\n")
        other.stdin.flush()
        theirs = json.loads(other.stdout.readline())
        nothing.append(theirs["nothing"])
        for c in configs:
            got[c]["do_bench"].append(theirs[c])
            got[c]["clean"].append(theirs[c + " clean"])
        pawl("pawl", "--budget", "200ms")
        if i < arbitrations:
            pawl("sustained", "--budget", "500ms", "--sustain")
            for c, value in ncu_sdpa().items():
                got[c]["ncu"].append(value)
    other.stdin.close()
    out = {}
    for c in configs:
        g = got[c]
        ratios = [a / b for a, b in zip(g["pawl"], g["do_bench"])]
        net = [a / (b - n) for a, b, n in zip(g["pawl"], g["clean"], nothing)]
        out[c] = {"rounds": rounds, "ratio": statistics.median(ratios), "low": min(ratios), "high": max(ratios),
                  "clean_net_ratio": statistics.median(net), "clean_net_low": min(net), "clean_net_high": max(net),
                  "nothing_us": statistics.median(nothing) * 1e6, **{k + "_us": statistics.median(v) * 1e6 for k, v in g.items()}, "all": g}
    return out


SWEEP = [f"attention_f16/{c}" for c in ("training_512", "training_1k", "inference_2k", "inference_4k", "b16_h8_s448", "b16_h4_s512", "b32_h16_s512",
                                       "b48_h16_s640", "causal_512", "causal_2k")]


def sweep():
    began = time.time()
    report = bench(*SWEEP, "--against", "sdpa,sdpa:flash,sdpa:cudnn,sdpa:efficient,sdpa:math", "--budget", "100ms",
                   "-o", WORK + "/sweep.md", "-o", WORK + "/sweep.html", cwd=WORK + "/examples/cuda", check=False)
    bench_rows = report["rows"]
    measured = sum(1 for r in bench_rows for v in r["rivals"] if v["row"].get("timing"))
    return {"seconds": time.time() - began, "configs": len(bench_rows), "rivals": len(bench_rows[0]["rivals"]), "measured": measured}


def matrix():
    """The fuzz matrix of the attention example, with the reference on the device: cold build first, then twice."""
    out = []
    for _ in range(3):
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
    subprocess.run([PAWL, "calibrate", "--roofline"], cwd=WORK, env=ENV, capture_output=True)  # for the kernel that claims too much work
    return selftest("cuda")


TEN = ["training_*", "inference_*", "b16_*", "b32_h16_s512", "b48_*", "causal_512"]


def ten():
    """Ten configs judged after a change that leaves their speed alone, three times."""
    project = WORK + "/ten"
    shutil.rmtree(project, ignore_errors=True)
    shutil.copytree(WORK + "/examples/cuda", project)
    git = ["git", "-c", "user.name=pawl", "-c", "user.email=pawl@example.com"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "base"]):
        subprocess.run([*git, *command], cwd=project, check=True)
    with open(project + "/attention.cu", "a") as source:
        source.write('extern "C" __global__ void other(float *x) { x[threadIdx.x] = 1; }\n')
    runs = []
    for _ in range(3):
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


def launchers():
    return selftest("launcher")


def torch():
    return selftest("python/torch_*")


def sanitize():
    began = time.time()
    done = subprocess.run([PAWL, "fuzz", "attention_f16", "softmax", "--plain", "--sample", "1", "--sanitize", "--json"], cwd=WORK + "/examples/cuda", env=ENV, capture_output=True, text=True)
    rows_ = json.loads(done.stdout)["rows"]
    return {"seconds": time.time() - began, "kernels": {r["kernel"]: r["verification"].get("sanitizer") for r in rows_}, "stderr": done.stderr[-3000:]}


def table(results):
    load = results.get
    out = []
    if s := load("start"):
        out.append(("process start to first sample", f'{s["first_sample_s"]["median"]:.2f} s (worst {s["first_sample_s"]["worst"]:.2f})', "<= 0.8 s"))
        for name, c in s["per_sample"].items():
            out.append((f"wall per sample, {name}", f'{c["wall_us"]:.0f} us = {c["ratio"]:.2f} x (flush + kernel)', "<= 2 x"))
    if s := load("agreement"):
        for name, c in s.items():
            out.append((f"against ncu, {name}", f'{c["ratio"]:.4f} ({c["difference_us"]:+.2f} us) [{c["low"]:.3f}, {c["high"]:.3f}]', "2% or 1 us"))
    if s := load("dobench"):
        for name, c in s.items():
            out.append((f"against do_bench, SDPA {name}", f'{c["ratio"]:.4f} [{c["low"]:.3f}, {c["high"]:.3f}]  {c["pawl_us"]:.1f} / {c["do_bench_us"]:.1f} us', "2% or 1 us"))
            out.append(("  flush clean, empty subtracted", f'{c["clean_net_ratio"]:.4f} [{c["clean_net_low"]:.3f}, {c["clean_net_high"]:.3f}]  {c["clean_us"]:.1f} - {c["nothing_us"]:.1f} us', "2% or 1 us"))
            out.append(("  against ncu", f'{c["pawl_us"] / c["ncu_us"]:.4f}  {c["pawl_us"]:.1f} / {c["ncu_us"]:.1f} us; do_bench {c["do_bench_us"] / c["ncu_us"]:.4f}; sustained {c["sustained_us"]:.1f} us', "2% or 1 us"))
    if s := load("spread"):
        for name, c in s.items():
            out.append((f"p5-p95 spread, {name}", f'{c["blocked_pct"]:.2f}%  (plain event pairs {c["plain_pct"]:.2f}%, median {c["plain_median_us"] / c["median_us"] - 1:+.1%})', "<= 3%"))
    if s := load("sandbox"):
        out.append(("inside / outside the sandbox", f'{s["median"]:.4f} [{s["low"]:.4f}, {s["high"]:.4f}] over {s["pairs"]} pairs', "1.000 +- 0.003"))
    if s := load("sweep"):
        out.append((f'sweep, {s["configs"]} configs x {s["rivals"]} backends', f'{s["seconds"]:.0f} s, {s["measured"]} measured', "<= 60 s for ten"))
    if s := load("matrix"):
        last = s[-1]
        out.append(("fuzz matrix, attention f16", f'{s[0]["seconds"]:.1f} s, then {last["seconds"]:.1f} s: {last["passed"]} right, {last["failed"]} wrong, {last["skipped"]} skipped', "27 right in <= 10 s"))
    if s := load("ten"):
        out.append(("ten configs judged", ", ".join(f'{r["seconds"]:.1f} s ({r["maintained"]} maintained; measuring from {r["verified_after"] or r["seconds"]:.1f} s on)' for r in s), "<= 20 s"))
    for stage in ("cheats", "launchers", "torch"):
        if not (s := load(stage)):
            continue
        out.append((f"selftest, {stage}", f'{s["caught"]} caught, {s["suspicious"]} suspicious, {s["missed"]} missed, controls {s["controls_passed"]} of {s["controls_passed"] + s["controls_failed"]}, '
                    f'mutants {s["mutants_killed"]}/{s["mutants"]}, {s["skipped"]} skipped, {s["seconds"]:.0f} s', "0 missed, 0 rejected, 100%"))
        for subject in s["subjects"]:
            if subject["outcome"] in ("missed", "failed", "survived"):
                out.append((f'  {subject["kind"]} {subject["name"]}', f'{subject["outcome"]}: {subject.get("by", "")}', ""))
    if s := load("sanitize"):
        for kernel, runs in s["kernels"].items():
            out.append((f"sanitizer, {kernel}", "; ".join(f'{r["tool"]} {"skipped: " + r["skipped"][:40] if r.get("skipped") else r.get("errors", 0)}' for r in runs or []), "0 errors"))
    for what, got, bound in out:
        print(f"{what:36} {got:64} {bound}")


def wrong(stage, s):
    """What must not be in a stage's result, whatever the machine; "" when nothing is. Times are for the table."""
    if stage in ("cheats", "launchers", "torch"):
        if s["missed"] or s["controls_failed"] or s["mutants_killed"] < s["mutants"] or not s["caught"]:
            return "pawl was fooled, or tried nothing"
    if stage == "matrix" and any(r["passed"] != 27 or r["failed"] or r["skipped"] or r["fault"] for r in s):
        return "not all 27 cases are right"
    if stage == "ten" and any(r["maintained"] != 10 for r in s):
        return "not all ten configs are maintained"
    if stage == "sweep" and s["measured"] < s["configs"] * s["rivals"]:
        return "not everything was measured"
    if stage == "sanitize" and any(not runs or any(r.get("skipped") or r["errors"] for r in runs) for runs in s["kernels"].values()):
        return "compute-sanitizer found something, or nothing could be looked at"
    return ""


STAGES = dict(start=start, agreement=agreement, spread=spread, sandbox=sandbox, dobench=dobench, sweep=sweep, matrix=matrix, ten=ten, cheats=cheats, launchers=launchers, torch=torch, sanitize=sanitize)


def results():
    found = {}
    for stage in STAGES:
        if os.path.exists(f"{WORK}/{stage}.json"):
            with open(f"{WORK}/{stage}.json") as f:
                found[stage] = json.load(f)
    return found


def settle(stage):
    """Measures, and keeps a right result for good; a wrong one only to be looked at."""
    result = STAGES[stage]()
    found = wrong(stage, result)
    with open(f"{WORK}/{stage}.tmp", "w") as f:
        json.dump(result, f, indent=1)
    os.rename(f"{WORK}/{stage}.tmp", f"{WORK}/{stage}." + ("wrong" if found else "json"))
    if found:
        table({stage: result})
        sys.exit(f"{stage}: {found}")


for stage in sys.argv[3:]:
    if stage == "table":
        table(results())
    elif not os.path.exists(f"{WORK}/{stage}.json"):
        settle(stage)
