"""Makes golden.txt from NumPy's float16 and ml_dtypes' bfloat16, float8_e4m3fn
and float8_e5m2:

    python -m venv venv && venv/bin/pip install numpy ml_dtypes
    venv/bin/python golden.py > golden.txt

Those 8-bit types overflow to NaN or infinity; pawl's saturate, so values are
clipped to the greatest finite one first, which changes nothing else.
"""

import hashlib

import ml_dtypes
import numpy as np

np.seterr(all="ignore")
TYPES = {
    "f16": (np.float16, np.uint16, None),
    "bf16": (ml_dtypes.bfloat16, np.uint16, None),
    "e4m3": (ml_dtypes.float8_e4m3fn, np.uint8, 448),
    "e5m2": (ml_dtypes.float8_e5m2, np.uint8, 57344),
}


def encode(values, name):
    dtype, code, most = TYPES[name]
    if most is not None:
        values = np.clip(values, -most, most)
    return values.astype(dtype).view(code)


def floats(bits):
    return np.array(bits, dtype=np.uint32).view(np.float32)


print(f"# numpy {np.__version__}, ml_dtypes {ml_dtypes.__version__}; see golden.py")

# What every code stands for: SHA-256 over the float32 values, NaN as 7fc00000.
for name, (dtype, code, _) in TYPES.items():
    codes = np.arange(np.iinfo(code).max + 1, dtype=code)
    values = codes.view(dtype).astype(np.float32)
    values[np.isnan(values)] = np.nan
    bits = values.view(np.uint32)
    bits[np.isnan(values)] = 0x7FC00000
    print("decode", name, hashlib.sha256(bits.astype("<u4").tobytes()).hexdigest())

# Every 4099th float32 that is not NaN: SHA-256 over the codes.
sweep = np.arange(0, 1 << 32, 4099, dtype=np.uint64).astype(np.uint32).view(np.float32)
sweep = sweep[~np.isnan(sweep)]
for name, (_, code, _) in TYPES.items():
    codes = encode(sweep, name)
    print("sweep", name, hashlib.sha256(codes.astype(np.dtype(code).newbyteorder("<")).tobytes()).hexdigest())

# Single cases, to see what is wrong when a hash is: float32, then the codes.
cases = [0x00000000, 0x80000000, 0x00000001, 0x007FFFFF, 0x00800000, 0x3F800000, 0xBF800000, 0x3DCCCCCD,
         0x40490FDB, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x477FE000, 0x477FEFFF, 0x477FF000,
         0x43E00000, 0x43E7FFFF, 0x43E80000, 0x43E80001, 0x47600000, 0x476FFFFF, 0x47700000, 0x7F7F7FFF,
         0x7F7F8000, 0x33000000, 0x33000001, 0x33800000, 0x387FC000, 0x387FE000, 0x387FDFFF, 0x3A800000,
         0x3A800001, 0x3B000000, 0x37000000, 0x37000001, 0x00008000, 0x00008001, 0x00018000]
for bits in cases:
    value = floats([bits])
    print("case", f"{bits:08x}", *(f"{encode(value, n)[0]:0{2 * np.dtype(TYPES[n][1]).itemsize}x}" for n in TYPES))
