"""Times scaled_dot_product_attention by pawl, by Triton's do_bench and by Nsight Compute, in turns."""
import csv, io, json, statistics, subprocess, sys

SDPA = """
import json, statistics, sys, torch, torch.nn.functional as F
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
def after(first, then):
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    clean(other)
    torch.cuda._sleep(2_000_000)  # until all is enqueued
    first()
    begin.record()
    then()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1e-3
def switch(p):
    attend, small = (lambda q=q: F.scaled_dot_product_attention(*q) for q in (p, [x[:len(x) // 4].clone() for x in p]))
    pairs = [(after(lambda: None, attend), after(small, attend)) for _ in range(30)][5:]
    return statistics.median(a for a, _ in pairs) - statistics.median(b for _, b in pairs)
print("ready", flush=True)
for line in sys.stdin:
    out = {}
    for n, p in problems.items():
        attend = lambda: F.scaled_dot_product_attention(*p)
        driver.clear_cache = dirty
        out[n] = run(attend)
        driver.clear_cache = clean
        out[n + " clean"] = run(attend)
        out[n + " switch"] = switch(p)
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


def dobench(work, bench, rows, rounds=5, arbitrations=2):
    """do_bench counts the time of its two events, which is what it says of a function that does nothing, and flushes with writes alone, so that
    their lines must leave the cache while the kernel runs. So it is asked a second time with a flush that reads afterwards, and Nsight Compute is
    asked who is right. Nsight Compute runs the same kernel again and again, and everybody else runs another one before it. How much longer a call
    takes after another kernel (the switch) is found by events: after a flush, and after a flush and a quarter of the problem in memory of its own.
    The switch is shown; no bound uses it."""
    configs = ["training_512", "inference_4k"]
    other = subprocess.Popen([sys.executable, "-c", DO_BENCH], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    other.stdout.readline()
    got = {c: {"pawl": [], "sustained": [], "do_bench": [], "clean": [], "switch": [], "ncu": []} for c in configs}
    nothing = []

    def pawl(into, *flags):
        report = bench(*[f"attention_f16/{c}" for c in configs], "--against", "sdpa", *flags, cwd=work + "/examples/cuda", check=False)
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
            got[c]["switch"].append(theirs[c + " switch"])
        pawl("pawl", "--budget", "200ms")
        if i < arbitrations:
            pawl("sustained", "--budget", "500ms", "--sustain")
            for c, value in ncu_sdpa().items():
                got[c]["ncu"].append(value)
    other.stdin.close()
    other.wait()
    out = {}
    for c in configs:
        g = got[c]
        ratios = [a / b for a, b in zip(g["pawl"], g["do_bench"])]
        net = [a / (b - n) for a, b, n in zip(g["pawl"], g["clean"], nothing)]
        out[c] = {"rounds": rounds, "ratio": statistics.median(ratios), "low": min(ratios), "high": max(ratios),
                  "clean_net_ratio": statistics.median(net), "clean_net_low": min(net), "clean_net_high": max(net),
                  "nothing_us": statistics.median(nothing) * 1e6, **{k + "_us": statistics.median(v) * 1e6 for k, v in g.items()}, "all": g}
    return out
