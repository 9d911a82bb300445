"""Measures the kernels of one Python framework, in the project beside this file, plants changes in one of them and checks it."""
import json, os, shutil, subprocess, tempfile, time

HERE = os.path.dirname(os.path.abspath(__file__))
SIZE = os.environ.get("PAWL_FRAMEWORKS_SIZE", "large")  # small: where they run on a processor
PYTHON = os.environ.get("PAWL_PYTHON", "python3")
KERNELS = {"triton": ["triton_softmax"], "cupy": ["cupy_raw", "cupy_elementwise"], "jax": ["jax_softmax"], "pytorch": ["torch_softmax"]}  # the first is checked
MODULES = {"triton": "triton", "cupy": "cupy", "jax": "jax", "pytorch": "torch"}
SOURCES = {"triton": "triton_softmax.py", "cupy": "cupy_scale.py", "jax": "jax_softmax.py", "pytorch": "torch_softmax.py"}
FLAGS = {"jax": ["--budget", "2s"]}  # of check: the wall clock would need many cells for 3%, and bounds.py lets JAX's innocent change be undecided
CHANGES = ["innocent", "slower", "wrong"]  # by the CHANGE of their configs

# What each function does, and what it does after the change: half of the rows once more where CHANGE is 1, answers that are 1% off where it is 2.
PLANTED = {
    "triton": ("    launch(x, y, WARPS)\n",
               "    launch(x, y, WARPS)\n    if change == 1:\n        launch(x[: len(x) // 2], y[: len(x) // 2], WARPS)\n    if change == 2:\n        y *= 1.01\n"),
    "cupy": ("    launch(x, y, a)\n",
             "    launch(x, y, a * 1.01 if change == 2 else a)\n    if change == 1:\n        launch(x[: len(x) // 2], y[: len(x) // 2], a)\n"),
    "jax": ("    return forward(x)\n",
            "    if change == 1:\n        forward(x[: len(x) // 2]).block_until_ready()\n    return forward(x) * 1.01 if change == 2 else forward(x)\n"),
    "pytorch": ("    forward(x, y)\n",
                "    forward(x, y)\n    if change == 1:\n        forward(x[: len(x) // 2], y[: len(x) // 2])\n    if change == 2:\n        y *= 1.01\n"),
}

# One function timed without pawl: the median of 50, the caches flushed by writing and then reading four times an L2.
PLAIN = """
import importlib, json, statistics, sys, time
sys.path.insert(0, ".")
framework, entry, shape, keywords = sys.argv[1], sys.argv[2], json.loads(sys.argv[3]), json.loads(sys.argv[4])
module, name = entry.split(":")
function = getattr(importlib.import_module(module), name)
clock, times = "wall", []
if framework == "jax":
    import jax
    x = jax.random.normal(jax.random.key(1), tuple(shape))
    def once():
        began = time.perf_counter()
        jax.block_until_ready(function(x, **keywords))
        return time.perf_counter() - began
else:
    if framework == "cupy":
        import cupy
        clock, x = "events", cupy.random.standard_normal(tuple(shape), dtype="float32")
        y, other = cupy.empty_like(x), cupy.zeros(256 << 20, dtype="int8")
        clear = lambda: (other.fill(1), other.view("int64").max())
        event, between = (lambda: cupy.cuda.Event()), (lambda a, b: cupy.cuda.get_elapsed_time(a, b) * 1e-3)
    else:
        import torch
        place = "cuda" if torch.cuda.is_available() else "cpu"
        x = torch.randn(shape, device=place)
        y, other = torch.empty_like(x), torch.zeros(256 << 20 if place == "cuda" else 8, dtype=torch.int8, device=place)
        clear = lambda: (other.fill_(1), other.view(torch.int64).max())
        if place == "cuda":
            clock = "events"
            event, between = (lambda: torch.cuda.Event(enable_timing=True)), (lambda a, b: a.elapsed_time(b) * 1e-3)
    def once():
        if clock == "wall":
            began = time.perf_counter()
            function(x, y, **keywords)
            return time.perf_counter() - began
        first, last = event(), event()
        clear()
        first.record()
        function(x, y, **keywords)
        last.record()
        last.synchronize()
        return between(first, last)
for _ in range(60): times.append(once())
print(json.dumps({"clock": clock, "plain_us": statistics.median(times[10:]) * 1e6}))
"""
ENTRIES = {"triton_softmax": "triton_softmax:softmax", "torch_softmax": "torch_softmax:softmax", "jax_softmax": "jax_softmax:softmax", "cupy_raw": "cupy_scale:raw", "cupy_elementwise": "cupy_scale:elementwise"}
SHAPES = {"softmax": {"large": [4096, 1024], "small": [512, 256]}, "cupy": {"large": [2097152], "small": [131072]}}
KEYWORDS = {"triton_softmax": {"WARPS": 8}, "cupy_raw": {"a": 2.5}, "cupy_elementwise": {"a": 2.5}}


def missing(framework):
    """Why the framework cannot be tried; "" when it can."""
    done = subprocess.run([PYTHON, "-c", f"import {MODULES[framework]}"], capture_output=True, text=True)
    return "" if done.returncode == 0 else (done.stderr.strip().splitlines() or ["it ended without a word"])[-1]


def report(pawl, project, env, *args):
    """A report's rows by kernel and config. What pawl says meanwhile is printed with its time."""
    began, said = time.time(), []
    with tempfile.TemporaryFile("w+") as out, subprocess.Popen([pawl, *args, "--json"], cwd=project, env=env, stdout=out, stderr=subprocess.PIPE, text=True) as p:
        for line in p.stderr:
            said.append(f"{time.time() - began:6.1f} {line}")
        p.wait()
        print(f"pawl {' '.join(args)}: {p.returncode} after {time.time() - began:.1f} s\n{''.join(said[-60:])}", flush=True)
        out.seek(0)
        return {(r["kernel"], r.get("config")): r for r in json.load(out)["rows"]}


def plain(framework, kernel, project):
    shape = SHAPES["cupy" if framework == "cupy" else "softmax"][SIZE]
    keywords = dict(KEYWORDS.get(kernel, {}), change=0)
    done = subprocess.run([PYTHON, "-c", PLAIN, framework, ENTRIES[kernel], json.dumps(shape), json.dumps(keywords)], cwd=project, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{kernel} timed plainly: {done.stderr[-2000:]}")
    return json.loads(done.stdout)


def plant(framework, source):
    old, new = PLANTED[framework]
    with open(source) as f:
        text = f.read()
    if text.count(old) != 1:
        raise SystemExit(f"{source}: {old!r} is not there once")
    with open(source, "w") as f:
        f.write(text.replace(old, new))


def measure(framework, pawl, work, env):
    """Everything that is known of one framework's kernels; a dict with only "skipped" where it is not installed."""
    if why := missing(framework):
        return {"skipped": why}
    began, project = time.time(), f"{work}/frameworks-{framework}"
    shutil.rmtree(project, ignore_errors=True)
    shutil.copytree(HERE + "/frameworks", project, ignore=shutil.ignore_patterns("__pycache__", ".pawl"))
    git = ["git", "-c", "user.name=pawl", "-c", "user.email=pawl@example.com"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "base"]):
        subprocess.run([*git, *command], cwd=project, check=True)
    kernels = KERNELS[framework]
    found = {k: {} for k in kernels}
    plant(framework, f"{project}/{SOURCES[framework]}")
    checked = report(pawl, project, env, "check", *(f"{kernels[0]}/{SIZE}_{change}" for change in CHANGES), *FLAGS.get(framework, []))
    for change in CHANGES:
        row = checked.get((kernels[0], f"{SIZE}_{change}"), {})
        base = next((s for s in row.get("sides") or [] if s.get("change")), None)
        found[kernels[0]][change] = {"verdict": row.get("verdict"), "change": base and base["change"]["median"], "integrity": (row.get("verification") or {}).get("integrity"),
                                     "fault": row.get("fault")}
    took = {kernels[0]: checked.get((kernels[0], f"{SIZE}_innocent"), {})}
    if len(kernels) > 1:
        took |= {kernel: row for (kernel, _), row in report(pawl, project, env, "bench", *(f"{k}/{SIZE}_innocent" for k in kernels[1:])).items()}
    for kernel, row in took.items():
        found[kernel]["pawl_us"] = row["timing"]["stats"]["median"] * 1e6 if row.get("timing") and not row.get("fault") else None
    for kernel in kernels:  # last, when the other stages are done
        found[kernel] |= plain(framework, kernel, project)
    return {"seconds": time.time() - began, "kernels": found}
