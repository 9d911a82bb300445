"""Prints what the stages found as a table, each figure beside its bound."""
import bounds


def table(results):
    out = []

    def load(stage):
        found = results.get(stage)
        if not (why := bounds.skipped(found)):
            return found
        out.append((stage, f"skipped: {why}", "not tried"))
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
            out.append(("  against ncu", f'{c["pawl_us"] / c["ncu_us"]:.4f}  {c["pawl_us"]:.1f} / {c["ncu_us"]:.1f} us, switch {c["switch_us"]:.1f}; do_bench {c["do_bench_us"] / c["ncu_us"]:.4f}; sustained {c["sustained_us"]:.1f} us', "2% or 1 us"))
    if s := load("spread"):
        for name, c in s.items():
            out.append((f"p5-p95 spread, {name}", f'{c["blocked_pct"]:.2f}%  (plain event pairs {c["plain_pct"]:.2f}%, median {c["plain_median_us"] / c["median_us"] - 1:+.1%})', "<= 3%"))
    if s := load("sandbox"):
        out.append(("inside / outside the sandbox", f'{s["median"]:.4f} [{s["low"]:.4f}, {s["high"]:.4f}] over {s["pairs"]} pairs', "1.000 +- 0.003"))
    if s := load("sweep"):
        out.append((f'sweep, {s["configs"]} configs x {s["rivals"]} backends', f'{s["seconds"]:.0f} s, {s["measured"]} measured, {s["right"]} answers right', "<= 60 s for ten"))
    if s := load("rivals"):
        for name, c in s["backends"].items():
            out.append((f"answers of {name}", f'{c["right"]} right, {len(c["wrong"]) + len(c["unknown"])} wrong, {len(c["refused"]) + len(c["missing"])} refused', "0 wrong, 8 and more right"))
    if s := load("matrix"):
        last = s[-1]
        out.append(("fuzz matrix, attention f16", f'{s[0]["seconds"]:.1f} s, then {last["seconds"]:.1f} s: {last["passed"]} right, {last["failed"]} wrong, {last["skipped"]} skipped', "27 right in <= 10 s"))
    if s := load("fourteen"):
        out.append(("fourteen kernels judged", ", ".join(f'{name} {r["seconds"]:.1f} s ({list(r["verdicts"].values()).count("maintained")} maintained)' for name, r in s.items()), "shared <= 20 s"))
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
    if s := load("tunerate"):
        plain, ours = s["plain"], s["pawl"]
        out.append(("settings a minute, gemm", f'{60 * ours["trials"] / max(ours["searched_s"], 1e-9):.0f}; one after the other {60 * plain["tried"] / plain["seconds"]:.0f}; device busy {100 * ours["busy_s"] / max(ours["searched_s"], 1e-9):.0f}% (launches {100 * (ours["launches_s"] or 0) / max(ours["searched_s"], 1e-9):.0f}%)', ">= 4 times; >= 60%"))
    for name in "tunegemm", "tuneattention":
        if s := load(name):
            out.append((name, f'{s["trials"]} settings in {s["spent_s"]:.0f} s, {s["ended"]}; ' + (f'{100 * s["overall"]:+.1f}% {s["best"]}' if s["best"] else "") + (f'; {s["why_not"]}' if s["why_not"] else "") + (f'; applied and checked: {sorted(s["applied"]["verdicts"].values())}' if s.get("applied") else ""), "<= 305 s"))
    if s := load("tuneenergy"):
        out.append(("tuneenergy", f'{s["trials"]} settings in {s["spent_s"]:.0f} s, {min(s["watts"], default=0):.0f} to {max(s["watts"], default=0):.0f} W, {s["front"]} that no other beats in both', "<= 65 s"))
    if s := load("why"):
        out.append(("profile of one config", f'{s["seconds"]:.1f} s, {s["metrics"]} facts, first finding {(s["findings"] or ["none"])[0]}, {sum(s["kept"].values()) / 1e6:.1f} MB kept', "<= 10 s"))
    if s := load("demo"):
        out.append(("demo", f'{s["chapters"]} chapters in {s["seconds"]:.0f} s, exit code {s["code"]}', "6 as told in <= 120 s"))
    for stage in ("triton", "cupy", "jax", "pytorch"):
        for name, k in ((load(stage) or {}).get("kernels") or {}).items():
            out.append((name, f'{k["pawl_us"] or 0:.1f} us, plain {k["clock"]} {k["plain_us"]:.1f}', f'x {bounds.PLAIN[k["clock"]]}'))
            if name not in bounds.UNCHANGED:
                out.append(("  changes", ", ".join(f'{c} {k[c]["verdict"]}' + (f' {k[c]["change"]:+.1%}' if k[c]["change"] else "") for c in ("innocent", "slower", "wrong")), "maintained, regression, incorrect"))
    if s := load("calibrate"):
        for level in bounds.levels(s):
            out.append((f'{level["kernel"]} {level["nominal"]:.1%} slower{", behind the best" if level["behind"] else ""}',
                        f'{level["failed"]} failed, {level["passed"]} passed, {level["undecided"]} undecided', f'of {s["sets"]} sets of cells'))
    for what, got, bound in out:
        print(f"{what:36} {got:64} {bound}")
