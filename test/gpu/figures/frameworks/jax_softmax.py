import jax
import jax.numpy as jnp


@jax.jit
def forward(x):
    weights = jnp.exp(x - x.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def softmax(x, change):
    return forward(x)
