"""Tunes the gemm of examples/cuda as simple tuners do: one setting after the other is compiled, loaded, launched once and then seven times
between events. It prints, as JSON, how many settings it has tried in how many seconds, and why the first that failed did."""
import itertools, json, os, random, subprocess, sys, tempfile, time

import cupy, numpy


def settings():
    for m, n, k, warps, stages in itertools.product([64, 128], [64, 128, 256], [32, 64], [4, 8], [2, 3, 4]):
        if m * n <= 4096 * warps and stages * (m + n) * k * 2 <= 160 * 1024:
            yield {"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k, "NUM_WARPS": warps, "NUM_STAGES": stages}


def attempt(source, folder, s, a, b, c, size):
    cubin = os.path.join(folder, "-".join(map(str, s.values())) + ".cubin")  # CuPy keeps modules by their path
    arch = "sm_" + cupy.cuda.Device().compute_capability
    done = subprocess.run(["nvcc", "-O3", "-std=c++17", "-arch=" + arch, "-cubin", "-o", cubin, source, *(f"-D{name}={value}" for name, value in s.items())], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{s}: nvcc: {done.stderr[-1000:]}")
    kernel = cupy.RawModule(path=cubin).get_function("gemm")
    shared = s["NUM_STAGES"] * (s["BLOCK_M"] + s["BLOCK_N"]) * s["BLOCK_K"] * 2
    kernel.max_dynamic_shared_size_bytes = shared
    grid = -(-size // s["BLOCK_M"]) * -(-size // s["BLOCK_N"])
    n = cupy.int32(size)
    begin, end = cupy.cuda.Event(), cupy.cuda.Event()
    times = []
    for i in range(8):
        begin.record()
        kernel((grid,), (32 * s["NUM_WARPS"],), (a, b, c, n, n, n), shared_mem=shared)
        end.record()
        end.synchronize()
        if i:
            times.append(cupy.cuda.get_elapsed_time(begin, end))
    return sum(times) / len(times)


def main():
    source, seconds, size = sys.argv[1], float(sys.argv[2]), 4096
    points = list(settings())
    random.Random(1).shuffle(points)
    drawn = numpy.random.default_rng(1)
    a, b = (cupy.asarray(drawn.standard_normal((size, size), dtype=numpy.float32).astype(numpy.float16)) for _ in range(2))
    c = cupy.zeros((size, size), cupy.float16)
    tried, best, failed, why, began = 0, None, 0, None, time.time()
    with tempfile.TemporaryDirectory() as folder:
        for s in points:
            if time.time() - began > seconds:
                break
            tried += 1
            try:
                ms = attempt(source, folder, s, a, b, c, size)
            except Exception as e:
                failed, why = failed + 1, why or f"{type(e).__name__}: {e}"
                continue
            best = ms if best is None else min(best, ms)
    print(json.dumps({"tried": tried, "of": len(points), "failed": failed, "why": why, "seconds": time.time() - began, "best_ms": best}))


main()
