"""The generator of the arguments' contents.

The definition is the package comment of internal/oracle. Arithmetic is on
arrays of signed 64-bit integers, whose sums and products wrap as unsigned ones
do; only shifts to the right need care. The same code runs on NumPy, CuPy and
PyTorch arrays.
"""

import os
import struct

from .dtype import EXACT, FLOATS, SIZE

MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15
CHUNK = 1 << 13  # elements drawn at once on a processor: few enough for its cache
WORDS = 1 << 16  # hashed at once there


def signed(x, bits=64):
    x &= (1 << bits) - 1
    return x - (1 << bits) if x >> (bits - 1) else x


def mix(z):
    z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ z >> 27) * 0x94D049BB133111EB) & MASK
    return z ^ z >> 31


def draw(key, n):
    return mix((key + (n + 1) * GOLDEN) & MASK)


def key_of(seed, arg, batch):
    return draw(draw(draw(seed, 0), arg), batch)


def shift(z, bits):
    """A logical shift to the right."""
    z = z >> bits
    z &= (1 << (64 - bits)) - 1
    return z


def draws(index, key):
    """draw(key, n) for every n of an array."""
    z = index * signed(GOLDEN)
    z += signed(key + GOLDEN)
    for bits, factor in (30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB):
        z ^= shift(z, bits)
        z *= signed(factor)
    z ^= shift(z, 31)
    return z


def upper_product(u, count):
    """The upper 64 bits of u * count."""
    low, high = count & 0xFFFFFFFF, count >> 32
    ul, uh = u & 0xFFFFFFFF, shift(u, 32)
    mid = uh * low + shift(ul * low, 32)
    rest = (mid & 0xFFFFFFFF) + ul * high
    return uh * high + shift(mid, 32) + shift(rest, 32)


def divide(u, by):
    """Quotient and remainder of unsigned numbers; by is below 2**62."""
    quotient = shift(u, 1) // by * 2
    rest = u - quotient * by
    more = (rest >= by) * 1
    return quotient + more, rest - more * by


def f32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def fill(kernel, target, dtype, kind, args, key):
    """Fills the raw bytes of an argument. target is a flat array of signed
    integers of the element's size; kernel converts."""
    count, chunk = len(target), kernel.chunk
    if kind == "zero":
        target[:] = 0
        return
    drawn = kernel.drawn(target)
    for first in range(0, count, chunk):
        last = min(count, first + chunk)
        drawn[first:last] = elements(kernel, dtype, kind, args, key, first, last)
    if drawn is not target:
        target[:] = kernel.move(drawn)


def elements(kernel, dtype, kind, args, key, first, last):
    """Elements first to last, raw."""
    raw = kernel.raw_of(generate(kernel, dtype, kind, args, key, first, last), dtype)
    if kind == "specials":
        quotient, rest = divide(draws(kernel.arange(first, last), mix(key)), int(args[2]))
        which = divide(quotient, 6)[1]
        for number, code in enumerate(SPECIALS[dtype]):
            raw = kernel.where((rest == 0) & (which == number), signed(code, 8 * SIZE[dtype]), raw)
    return raw


def generate(kernel, dtype, kind, args, key, first, last):
    """Elements first to last, as float32 (float64 for f64) or 64-bit integers, but
    for special ones."""
    width = "f64" if dtype == "f64" else "f32"
    real = float if dtype == "f64" else f32
    index = kernel.arange(first, last)
    if kind == "rows":
        kind, index = "normal", index // int(args[2])
    if kind == "outliers":
        values = generate(kernel, dtype, "normal", args[:2], key, first, last)
        chosen = index % int(args[2]) % 16 == mix(key) % 16
        return kernel.where(chosen, values * real(args[3]), values)
    if kind == "uniform":
        low, high = real(args[0]), real(args[1])
        u = draws(index, key)
        x = kernel.real(shift(u, 11 if width == "f64" else 40), width) * (2.0**-53 if width == "f64" else 2.0**-24)
        return x * real(high - low) + low
    if kind in ("normal", "specials"):
        mean, std = real(args[0]), real(args[1])
        if width == "f64":
            total, scale = -4 * (2**32 - 1), float.fromhex("0x1.3988e1409212ep-32")
            for j in range(4):
                u = draws(index * 4 + j, key)
                total = shift(u, 32) + (u & 0xFFFFFFFF) + total
        else:
            pairs, scale = 0, float.fromhex("0x1.3988e2p-16")
            index *= 2
            for j in range(2):
                u = draws(index, (key + j * GOLDEN) & MASK)
                pairs += u & 0x0000FFFF0000FFFF
                u >>= 16
                u &= 0x0000FFFF0000FFFF
                pairs += u
            total = pairs >> 32
            pairs &= 0xFFFFFFFF
            total += pairs
            total -= 262140
        z = kernel.real(total, width)
        z *= scale
        z *= std
        z += mean
        return z
    if kind == "integers":
        low, high = int(args[0]), int(args[1])
        values = upper_product(draws(index, key), high - low + 1) + low
    elif kind == "iota":
        bits = EXACT[dtype]
        values = index & ((1 << bits) - 1) if bits < 64 else index
    else:
        if dtype in FLOATS:
            return kernel.real(index * 0, width) + real(args[0])
        values = index * 0 + int(args[0])
    return kernel.real(values, width) if dtype in FLOATS else values


CHANGES = 8  # elements that a step changes


def changing(kind, args):
    """The fill that changes take their values from; None where nothing changes."""
    if kind in ("constant", "zero", "iota"):
        return None
    return ("normal", args[:2]) if kind in ("rows", "outliers", "specials") else (kind, args)


def changes(kernel, count, dtype, kind, args, key, first, last):
    """What steps first to last change in a buffer of count elements: places, and the
    raw elements for them, both as arrays. Of places that a step has twice both get
    its last element, so that their order does not matter."""
    numbers = kernel.arange(CHANGES * first, CHANGES * last)
    places = upper_product(draws(numbers, mix((key + 1) & MASK)), count)
    raw = elements(kernel, dtype, kind, args, key, count + CHANGES * first, count + CHANGES * last)
    known, order = places.tolist(), list(range(len(places)))
    for begin in range(0, len(known), CHANGES):
        step = known[begin:begin + CHANGES]
        if len(set(step)) < CHANGES:
            latest = {place: begin + j for j, place in enumerate(step)}
            order[begin:begin + CHANGES] = [latest[place] for place in step]
    return kernel.move(places), kernel.move(raw[order])


def digest(kernel, data):
    """What stands for a buffer's bytes, by weights that are drawn anew in every cell."""
    if kernel.weights is None:
        kernel.weights = draws(kernel.arange(0, kernel.words), int.from_bytes(os.urandom(8), "little"))
    whole = len(data) // 8 * 8
    words, total = kernel.raw(data[:whole], 8), 0
    for first in range(0, len(words), kernel.words):
        z = kernel.look(words[first:first + kernel.words]) * signed(GOLDEN)
        part = int(((z ^ shift(z, 29)) * kernel.weights[:len(z)]).sum())
        total = (total * 0xBF58476D1CE4E5B9 + part) & MASK
    return total, kernel.look(data[whole:]).tolist()


FILLS = {
    "normal": 2, "uniform": 2, "integers": 2, "constant": 1, "zero": 0, "iota": 0,
    "rows": 3, "outliers": 4, "specials": 3,
}  # how many numbers each takes
FLOAT_FILLS = ("normal", "uniform", "rows", "outliers", "specials")

# NaN, both infinities, -0, the smallest positive number and the greatest.
SPECIALS = {
    "f64": (0x7FF8 << 48, 0x7FF0 << 48, 0xFFF0 << 48, 0x8000 << 48, 1, 0x7FEFFFFFFFFFFFFF),
    "f32": (0x7FC00000, 0x7F800000, 0xFF800000, 0x80000000, 1, 0x7F7FFFFF),
    "f16": (0x7E00, 0x7C00, 0xFC00, 0x8000, 1, 0x7BFF),
    "bf16": (0x7FC0, 0x7F80, 0xFF80, 0x8000, 1, 0x7F7F),
    "e4m3": (0x7F, 0x7E, 0xFE, 0x80, 1, 0x7E),
    "e5m2": (0x7E, 0x7C, 0xFC, 0x80, 1, 0x7B),
}

# What an output holds before a call: see oracle.Poison.
POISON = {
    "f64": 0x7FF8A5A5A5A5A5A5, "f32": 0x7FE5A5A5, "f16": 0x7EA5, "bf16": 0x7FE5, "e4m3": 0x7F, "e5m2": 0x7E,
}


def poison_of(dtype):
    return signed(POISON.get(dtype, int("a5" * SIZE[dtype], 16)), 8 * SIZE[dtype])


def narrow(kernel, values, dtype):
    """float32 values as the codes of bf16, e4m3 or e5m2: to nearest, ties to
    even, subnormals included. The range was checked before."""
    bits = kernel.bits(values)
    if dtype == "bf16":
        return (bits + 0x7FFF + (shift(bits, 16) & 1)) >> 16
    mantissa, bias = (3, 7) if dtype == "e4m3" else (2, 15)
    magnitude, sign = bits & 0x7FFFFFFF, (bits >> 24) & 0x80
    drop = 23 - mantissa
    normal = (magnitude - ((127 - bias) << 23) + ((1 << (drop - 1)) - 1) + ((magnitude >> drop) & 1)) >> drop
    # A float32 whose last bit is worth the format's smallest step rounds in the
    # addition.
    magic = (128 - bias + drop) << 23
    (step,) = struct.unpack("<f", struct.pack("<I", magic))
    small = kernel.bits(abs(values) + step) - magic
    is_small = (magnitude < ((128 - bias) << 23)) * 1
    return sign | (small * is_small + normal * (1 - is_small))
