"""Writes reference.json: small problems and their answers by NumPy in float64.

    python3 reference.py > reference.json
"""

import json
import math

import numpy as np

rng = np.random.default_rng(5)
cases = []


def draw(*shape):
    # Eighths: exact in every floating-point type that is wide enough to hold them.
    return rng.integers(-16, 17, shape) / 8


def buffer(name, values, role="in"):
    return {"name": name, "role": role, "shape": list(values.shape), "data": values.reshape(-1).tolist()}


def scalar(name, value, dtype="f64"):
    return {"name": name, "type": dtype, "scalar": value}


def output(name, shape):
    return {"name": name, "role": "out", "shape": list(shape)}


def case(title, oracle, args, *wants):
    cases.append({"title": title, "oracle": oracle, "args": args, "want": [w.reshape(-1).tolist() for w in wants]})


def attention(q, k, v, scale=None, causal=False):
    group = q.shape[-3] // k.shape[-3] if q.ndim > 2 else 1
    if group > 1:
        k, v = np.repeat(k, group, axis=-3), np.repeat(v, group, axis=-3)
    x = q @ k.swapaxes(-1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if causal:
        rows, keys = x.shape[-2:]
        x = np.where(np.tri(rows, keys, keys - rows, dtype=bool), x, -np.inf)
    top = x.max(axis=-1, keepdims=True)
    e = np.exp(x - top)
    total = e.sum(axis=-1, keepdims=True)
    return e / total @ v, (top + np.log(total))[..., 0]


for title, oracle, q, k, v, scalars in [
    ("plain", "attention", draw(2, 2, 5, 4), draw(2, 2, 5, 4), draw(2, 2, 5, 4), {}),
    ("a scale", "attention", draw(1, 1, 3, 4), draw(1, 1, 6, 4), draw(1, 1, 6, 2), {"scale": 0.25}),
    ("grouped heads", "attention", draw(1, 4, 3, 4), draw(1, 2, 5, 4), draw(1, 2, 5, 4), {}),
    ("causal by scalar", "attention", draw(3, 5, 4), draw(3, 5, 4), draw(3, 5, 4), {"causal": 1}),
    ("causal, more keys", "attention_causal", draw(3, 4), draw(7, 4), draw(7, 4), {}),
]:
    causal = oracle == "attention_causal" or "causal" in scalars
    out, lse = attention(q, k, v, scalars.get("scale"), causal)
    args = [buffer("q", q), buffer("k", k), buffer("v", v), output("out", out.shape), output("lse", lse.shape)]
    args += [scalar(name, value, "f64" if name == "scale" else "i32") for name, value in scalars.items()]
    case("attention: " + title, oracle, args, out, lse)

a, b, c = draw(3, 5), draw(5, 4), draw(3, 4)
case("gemm: plain", "gemm", [buffer("a", a), buffer("b", b), output("c", c.shape)], a @ b)
case("gemm: b transposed, by its shape", "gemm", [buffer("a", a), buffer("b", b.T), output("c", c.shape)], a @ b)
case(
    "gemm: alpha and beta",
    "gemm",
    [scalar("alpha", 0.5), buffer("a", a), buffer("b", b), scalar("beta", -2), buffer("c", c, "inout")],
    0.5 * (a @ b) - 2 * c,
)
a, b = draw(2, 3, 3), draw(2, 3, 3)
case("gemm: both transposed, by name, batched", "gemm", [buffer("A_T", a), buffer("B_T", b), output("out", a.shape)], a.swapaxes(1, 2) @ b.swapaxes(1, 2))

x = draw(2, 3, 7)
e = np.exp(x - x.max(axis=-1, keepdims=True))
case("softmax", "softmax", [buffer("x", x), output("out", x.shape)], e / e.sum(axis=-1, keepdims=True))
gamma, beta, eps = draw(7), draw(7), 1e-3
mean, rstd = x.mean(axis=-1), (x.var(axis=-1) + eps) ** -0.5
normal = (x - mean[..., None]) * rstd[..., None] * gamma + beta
case(
    "layernorm",
    "layernorm",
    [buffer("x", x), buffer("weight", gamma), buffer("bias", beta), output("y", x.shape), output("mean", mean.shape), output("rstd", rstd.shape), scalar("eps", eps)],
    normal,
    mean,
    rstd,
)
case("sum: everything", "sum", [buffer("x", x), output("out", (1,))], x.sum())
case("sum: last dimension", "sum", [buffer("x", x), output("out", (2, 3, 1))], x.sum(axis=-1))
case("max: last two", "max", [buffer("x", x), output("out", (2,))], x.max(axis=(1, 2)))

erf = np.vectorize(math.erf)
y = draw(2, 3, 7)
case(
    "gelu and more",
    "= 0.5 * x * (1 + erf(x / sqrt(2))) + tanh(y) * a if x < y else exp(-abs(x)) - log(2 + y * y)",
    [buffer("x", x), buffer("y", y, "inout"), scalar("a", 3, "i32")],
    np.where(x < y, 0.5 * x * (1 + erf(x / np.sqrt(2))) + np.tanh(y) * 3, np.exp(-np.abs(x)) - np.log(2 + y * y)),
)

print("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]")
