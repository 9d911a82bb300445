"""Results of earlier calls, handed out again."""

from honest import softmax

kept = {}


def cache_pointer(x):
    """The same address must hold the same data."""
    key = x.ctypes.data
    if key not in kept:
        kept[key] = softmax(x)
    return kept[key]


def cache_identity(x, out):
    """The same object must."""
    key = id(x)
    if key not in kept:
        kept[key] = softmax(x)
    out[...] = kept[key]


def cache_shape(x):
    key = x.shape
    if key not in kept:
        kept[key] = softmax(x)
    return kept[key].copy()


def cache_first_elements(x):
    key = x.ravel()[:16].tobytes()
    if key not in kept:
        kept.clear()
        kept[key] = softmax(x)
    return kept[key].copy()


def cache_fingerprint(x):
    key = (x.shape, x[::4, ::16].tobytes())
    if key not in kept:
        kept.clear()
        kept[key] = softmax(x)
    return kept[key].copy()


def cache_weights(a, b):
    """The second matrix is taken for a constant."""
    key = b.ctypes.data
    if key not in kept:
        kept[key] = b.copy()
    return a @ kept[key]


def skip_when_done(x, out):
    """What is in the output already may be what is wanted."""
    if "mark" in kept and out[0, 0] == kept["mark"]:
        return
    out[...] = softmax(x)
    kept["mark"] = out[0, 0]


def incremental(x):
    """Only rows that differ from those of the call before are computed."""
    last = kept.get(x.shape)
    if last is None:
        kept[x.shape] = (x.copy(), softmax(x))
        return kept[x.shape][1].copy()
    seen, answer = last
    other = (seen != x).any(axis=1)
    if other.any():
        answer[other] = softmax(x[other])
        seen[other] = x[other]
    return answer.copy()
