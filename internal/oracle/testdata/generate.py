"""The input generator in plain Python, and the golden values of all others.

    python3 generate.py > golden.json

Written for reading beside the package comment of internal/oracle, not for
speed. It shares no code and no method with the Go implementation where it can
be helped: 8-bit types are rounded by looking for the nearest of all values.
"""

import bisect
import hashlib
import json
import math
import struct

MASK = (1 << 64) - 1
G = 0x9E3779B97F4A7C15


def mix(z):
    z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ z >> 27) * 0x94D049BB133111EB) & MASK
    return z ^ z >> 31


def draw(key, n):
    return mix((key + (n + 1) * G) & MASK)


def key_of(seed, arg, batch):
    return draw(draw(draw(seed, 0), arg), batch)


def f32(x):
    """Rounds to float32. Products and sums of two float32 are exact enough in
    float64 that rounding them a second time changes nothing."""
    return struct.unpack("<f", struct.pack("<f", x))[0]


def f64(x):
    return float(x)


def bf16_bytes(x):
    (bits,) = struct.unpack("<I", struct.pack("<f", x))
    upper, lower = bits >> 16, bits & 0xFFFF
    if lower > 0x8000 or (lower == 0x8000 and upper & 1):
        upper += 1
    return struct.pack("<H", upper)


def small_values(mantissa_bits, bias, most):
    """The finite values of an 8-bit type, by code, without the sign."""
    values = []
    for code in range(most + 1):
        exponent, mantissa = code >> mantissa_bits, code & ((1 << mantissa_bits) - 1)
        if exponent:
            mantissa += 1 << mantissa_bits
        values.append(math.ldexp(mantissa, max(exponent, 1) - bias - mantissa_bits))
    return values


def small_bytes(x, values):
    above = min(bisect.bisect_left(values, abs(x)), len(values) - 1)
    code = min((max(above - 1, 0), above), key=lambda c: (abs(values[c] - abs(x)), c & 1))
    return bytes([code | (0x80 if math.copysign(1, x) < 0 else 0)])


E4M3 = small_values(3, 7, 0x7E)
E5M2 = small_values(2, 15, 0x7B)

# name: (bytes of a value, bits of gapless whole numbers)
FLOATS = {
    "f64": (lambda x: struct.pack("<d", x), 53),
    "f32": (lambda x: struct.pack("<f", x), 24),
    "f16": (lambda x: struct.pack("<e", x), 11),
    "bf16": (bf16_bytes, 8),
    "e4m3": (lambda x: small_bytes(x, E4M3), 4),
    "e5m2": (lambda x: small_bytes(x, E5M2), 3),
}
LAYOUTS = {"f64": (11, 52), "f32": (8, 23), "f16": (5, 10), "bf16": (8, 7), "e4m3": (4, 3), "e5m2": (5, 2)}
INTEGERS = {
    "i8": ("<b", 7), "i16": ("<h", 15), "i32": ("<i", 31), "i64": ("<q", 63),
    "u8": ("<B", 8), "u16": ("<H", 16), "u32": ("<I", 32), "u64": ("<Q", 64),
}


def uniform(key, i, real, low, high):
    low, high = real(low), real(high)
    width = real(high - low)
    u = draw(key, i)
    x = (u >> 11) * 2.0**-53 if real is f64 else (u >> 40) * 2.0**-24
    return real(real(width * x) + low)


def normal(key, i, real, mean, std):
    mean, std = real(mean), real(std)
    if real is f64:
        fields = [draw(key, 4 * i + j) >> shift & 0xFFFFFFFF for j in range(4) for shift in (0, 32)]
        total, scale = sum(fields) - 4 * (2**32 - 1), float.fromhex("0x1.3988e1409212ep-32")
    else:
        fields = [draw(key, 2 * i + j) >> shift & 0xFFFF for j in range(2) for shift in (0, 16, 32, 48)]
        total, scale = sum(fields) - 262140, float.fromhex("0x1.3988e2p-16")
    z = real(real(total) * scale)
    return real(real(z * std) + mean)


def special(dtype, number):
    """By the layout of the type: sign, exponent, mantissa."""
    exponent, mantissa = LAYOUTS[dtype]
    bits = 1 + exponent + mantissa
    infinity = ((1 << exponent) - 1) << mantissa
    nan, most = infinity + (1 << mantissa - 1), infinity - 1
    if dtype == "e4m3":  # no infinities, and NaN is all ones
        nan, most = (1 << bits - 1) - 1, (1 << bits - 1) - 2
        infinity = most
    sign = 1 << bits - 1
    return [nan, infinity, sign + infinity, sign, 1, most][number].to_bytes(bits // 8, "little")


def element(dtype, kind, args, key, i):
    if kind == "rows":
        return element(dtype, "normal", args[:2], key, i // args[2])
    if kind == "specials":
        u = draw(mix(key), i)
        if u % args[2] == 0:
            return special(dtype, u // args[2] % 6)
        kind, args = "normal", args[:2]
    if dtype in INTEGERS:
        layout, bits = INTEGERS[dtype]
        return struct.pack(layout, whole(kind, args, key, i, bits))
    pack, bits = FLOATS[dtype]
    real = f64 if dtype == "f64" else f32
    if kind == "uniform":
        return pack(uniform(key, i, real, *args))
    if kind == "normal":
        return pack(normal(key, i, real, *args))
    if kind == "outliers":
        value = normal(key, i, real, *args[:2])
        if i % args[2] % 16 == draw(key, MASK) % 16:
            value = real(value * real(args[3]))
        return pack(value)
    if kind == "constant":
        return pack(real(args[0]))
    return pack(real(whole(kind, args, key, i, bits)))


def whole(kind, args, key, i, bits):
    if kind == "integers":
        low, high = (int(a) for a in args)
        return low + (draw(key, i) * (high - low + 1) >> 64)
    if kind == "constant":
        return int(args[0])
    if kind == "iota":
        return i % (1 << bits)
    return 0


def mutate(data, dtype, kind, args, key, step):
    if kind in ("constant", "zero", "iota"):
        return
    if kind in ("rows", "outliers", "specials"):
        kind, args = "normal", args[:2]
    for n in range(8 * step, 8 * step + 8):
        place = draw(mix((key + 1) & MASK), n) * len(data) >> 64
        data[place] = element(dtype, kind, args, key, len(data) + n)


def cases():
    for dtype in FLOATS:
        yield dtype, "normal", [0, 1]
        yield dtype, "normal", [0.3, 2.7]
        yield dtype, "uniform", [0, 1]
        yield dtype, "uniform", [-0.1, 0.7]
        yield dtype, "uniform", [-3e-5, 2e-5]
        yield dtype, "integers", [-8, 8]
        yield dtype, "constant", [-0.1]
    yield "f16", "uniform", [-65504, 65504]
    yield "e4m3", "uniform", [-448, 448]
    yield "e5m2", "uniform", [-57344, 57344]
    yield "f32", "integers", [-(2**40), 2**40]
    yield "f64", "integers", [-(2**53), 2**53]
    for dtype in INTEGERS:
        signed = dtype[0] == "i"
        yield dtype, "integers", [-8, 8] if signed else [0, 15]
        yield dtype, "integers", [-128, 127] if signed else [0, 255]
        yield dtype, "constant", [-7 if signed else 7]
    yield "i64", "integers", [-(2**53), 2**53]
    yield "u64", "integers", [0, 2**53]
    for dtype in [*FLOATS, *INTEGERS]:
        yield dtype, "zero", []
        yield dtype, "iota", []
    for dtype in FLOATS:
        yield dtype, "rows", [0.3, 2.7, 1]
        yield dtype, "rows", [0, 1, 37]
        yield dtype, "outliers", [0.1, 1, 50, -10.1]
        yield dtype, "outliers", [0, 1, 700, 30]
        yield dtype, "specials", [0, 1, 1]
        yield dtype, "specials", [0.3, 2.7, 5]


def changing():
    for dtype, kind, args in cases():
        if kind != "normal" or args == [0.3, 2.7]:
            yield dtype, kind, args, 700, 3
    for dtype in [*FLOATS, *INTEGERS]:
        yield dtype, "integers", [0, 7], 5, 40  # places are hit more than once
    yield "f32", "normal", [0, 1], 1, 2


COUNT, HEAD = 700, 6


def main():
    keys = [
        {"seed": seed, "arg": arg, "batch": batch, "key": f"{key_of(seed, arg, batch):016x}"}
        for seed, arg, batch in [(0, 0, 0), (42, 0, 0), (42, 1, 0), (42, 0, 1), (MASK, 7, 1000)]
    ]
    fills = []
    for number, (dtype, kind, args) in enumerate(cases()):
        key = key_of(42, number, 0)
        data = [element(dtype, kind, args, key, i) for i in range(COUNT)]
        fills.append({
            "dtype": dtype, "kind": kind, "args": args, "key": f"{key:016x}", "count": COUNT,
            "head": [value[::-1].hex() for value in data[:HEAD]],
            "sha256": hashlib.sha256(b"".join(data)).hexdigest(),
        })
    changes = []
    for number, (dtype, kind, args, count, steps) in enumerate(changing()):
        key = key_of(7, number, 1)
        data = [element(dtype, kind, args, key, i) for i in range(count)]
        for step in range(1, steps + 1):
            mutate(data, dtype, kind, args, key, step)
        changes.append({
            "dtype": dtype, "kind": kind, "args": args, "key": f"{key:016x}", "count": count, "steps": steps,
            "sha256": hashlib.sha256(b"".join(data)).hexdigest(),
        })
    parts = {"keys": keys, "fills": fills, "changes": changes}
    print("{" + ",\n".join(f'"{name}": [\n' + ",\n".join(map(json.dumps, part)) + "\n]" for name, part in parts.items()) + "}")


main()
