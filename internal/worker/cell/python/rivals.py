"""The rivals that ship with pawl: PyTorch's scaled_dot_product_attention, as it
chooses by itself and with each of its backends. Queries, keys and values are
[batch, heads, sequence, head dimension]."""

import warnings

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention


def sdpa(q, k, v, scale=None, causal=False):
    more = {"enable_gqa": True} if q.shape[1] != k.shape[1] else {}
    return scaled_dot_product_attention(q, k, v, scale=scale, is_causal=bool(causal), **more)


def only(backend, q, k, v, scale, causal):
    try:
        with sdpa_kernel(backend):
            return sdpa(q, k, v, scale, causal)
    except RuntimeError as error:
        if not any(text in str(error) for text in ("No available kernel", "No viable backend")):
            raise
        raise NotImplementedError(reasons(backend, q, k, v, scale, causal)) from None


def reasons(backend, q, k, v, scale, causal):
    """Why a backend refuses a problem: PyTorch says so in warnings."""
    name = backend.name.lower().replace("_attention", "")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            with sdpa_kernel(backend):
                sdpa(q, k, v, scale, causal)
        except RuntimeError:
            pass
    text = [str(w.message).partition(" (Triggered")[0] for w in said]
    because = [t for t in text if "not used because" not in t and "disabled" not in t]
    return f"PyTorch {torch.__version__} has no {name} attention for this problem" + (": " + " ".join(because) if because else "")


def sdpa_flash(q, k, v, scale=None, causal=False):
    return only(SDPBackend.FLASH_ATTENTION, q, k, v, scale, causal)


def sdpa_cudnn(q, k, v, scale=None, causal=False):
    return only(SDPBackend.CUDNN_ATTENTION, q, k, v, scale, causal)


def sdpa_efficient(q, k, v, scale=None, causal=False):
    return only(SDPBackend.EFFICIENT_ATTENTION, q, k, v, scale, causal)


def sdpa_math(q, k, v, scale=None, causal=False):
    return only(SDPBackend.MATH, q, k, v, scale, causal)
