"""JAX."""

from ..clock import on_processor
from .array import framework_module, odd_type
from .numpy import NumPy


class Jax(NumPy):
    """JAX arrays: made by NumPy, immutable, timed by the wall clock until the
    result is there."""

    name = "jax"
    in_place = False

    def __init__(self, load):
        super().__init__(load)
        self.jax = framework_module("jax")
        self.jax.config.update("jax_default_matmul_precision", "highest")
        self.blanks = {}  # nobody writes to them, so that one of a kind is enough
        self.kind = type(self.jax.numpy.zeros(()))
        # As integers: arithmetic on narrow floats has its own NaN.
        bits = self.jax.lax.bitcast_convert_type
        self.update = self.jax.jit(lambda array, places, raw: bits(bits(array, raw.dtype).at[places].set(raw), array.dtype))
        self.device = self.jax.default_backend() != "cpu"
        if self.device:
            jnp = self.jax.numpy
            words = max(2 * load.get("l2_bytes", 0), 64 << 20) // 4
            self.write = self.jax.jit(lambda value: jnp.full((words,), value, jnp.int32))
            self.read = self.jax.jit(jnp.sum)
            self.kept = self.write(0)
            self.flush_name = "write 2×L2, read 2×L2"

    def runtime(self):
        return f"JAX {self.jax.__version__} on {self.jax.default_backend()}"

    def array(self, host):
        if host.dtype.itemsize == 8:
            self.jax.config.update("jax_enable_x64", True)
        return self.jax.device_put(host.copy())  # which JAX may keep as it is

    def changed(self, array, places, raw):
        index = self.np.unravel_index(places, array.shape)
        return self.update(array, tuple(i.astype(self.np.int32) for i in index), raw)

    def describe(self, value):
        return (tuple(value.shape), self.np.dtype(value.dtype)) if isinstance(value, self.jax.Array) else None

    def odd(self, value):
        return odd_type(value, self.kind)

    def extent(self, value):
        start = value.unsafe_buffer_pointer()
        return start, start + value.nbytes

    def look(self, array):
        return self.np.asarray(array)

    def spoil(self, value, dtype):
        pass

    def flush(self):
        if not self.device:
            return super().flush()
        self.write(1).block_until_ready()
        self.read(self.kept).block_until_ready()

    def once(self, call, repeat, cold, ready):
        ready()
        if cold:
            self.flush()
        return on_processor(lambda: self.jax.block_until_ready(call()), repeat)

    def relied_on(self):
        return [("jax", self.jax, "block_until_ready")]

    def finish(self, seconds, repeat):
        # Nothing hides the launch here: the device waits for the host each time.
        return seconds, {"exposed": len(seconds)} if self.device else {}
