"""Element types."""

# bits of gapless whole numbers, of every element type
EXACT = {
    "f64": 53, "f32": 24, "f16": 11, "bf16": 8, "e4m3": 4, "e5m2": 3,
    "i8": 7, "i16": 15, "i32": 31, "i64": 63, "u8": 8, "u16": 16, "u32": 32, "u64": 64,
}
SIZE = {
    "f64": 8, "f32": 4, "f16": 2, "bf16": 2, "e4m3": 1, "e5m2": 1,
    "i8": 1, "i16": 2, "i32": 4, "i64": 8, "u8": 1, "u16": 2, "u32": 4, "u64": 8,
}
FLOATS = ("f64", "f32", "f16", "bf16", "e4m3", "e5m2")

# Element types by the names that NumPy and PyTorch have for them.
NAMES = {
    "float8_e4m3fn": "e4m3", "float8_e5m2": "e5m2", "float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64",
    "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64",
    "bool": "u8", "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64",
}

# Bits of the whole numbers that a floating-point type holds without a gap, and its
# largest exponent.
PRECISION = {"f64": (53, 1023), "f32": (24, 127), "f16": (11, 15), "bf16": (8, 127), "e4m3": (4, 8), "e5m2": (3, 15)}


def holds(dtype, other):
    """Whether a type holds every value of another."""
    if dtype == other or not dtype:
        return dtype == other
    if dtype in FLOATS and other in FLOATS:
        return PRECISION[dtype][0] >= PRECISION[other][0] and PRECISION[dtype][1] >= PRECISION[other][1]
    if other in FLOATS:
        return False
    bits = 8 * SIZE[other] - (other[0] == "i")
    if dtype in FLOATS:
        return PRECISION[dtype][0] >= bits
    return 8 * SIZE[dtype] - (dtype[0] == "i") >= bits and (dtype[0] == "i" or other[0] == "u")
