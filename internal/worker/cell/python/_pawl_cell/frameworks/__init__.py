"""Frameworks. One makes arrays, and samples: one call or several, timed."""

from .cupy import CuPy
from .jax import Jax
from .numpy import NumPy
from .torch import torch_here

FRAMEWORKS = {"torch": torch_here, "cupy": CuPy, "jax": Jax, "numpy": NumPy}
