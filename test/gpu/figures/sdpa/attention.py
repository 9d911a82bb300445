import torch


def naive(q, k, v, sm_scale, is_causal):
    heads = q.shape[1] // k.shape[1]
    k, v = (x.float().repeat_interleave(heads, dim=1) for x in (k, v))
    scores = q.float() @ k.transpose(2, 3) * sm_scale
    if is_causal:
        rows, keys = scores.shape[2:]
        scores = scores.masked_fill(torch.ones(rows, keys, device=q.device).tril(keys - rows) == 0, float("-inf"))
    return (scores.softmax(-1) @ v).to(q.dtype)
