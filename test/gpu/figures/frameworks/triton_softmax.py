import triton
import triton.language as tl


@triton.jit
def rows(x, y, columns, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    inside = at < columns
    row = tl.program_id(0).to(tl.int64) * columns
    values = tl.load(x + row + at, mask=inside, other=-float("inf"))
    weights = tl.exp(values - tl.max(values, axis=0))
    tl.store(y + row + at, weights / tl.sum(weights, axis=0), mask=inside)


def launch(x, y, warps):
    rows[(x.shape[0],)](x, y, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]), num_warps=warps)


def softmax(x, y, change, WARPS):
    launch(x, y, WARPS)
