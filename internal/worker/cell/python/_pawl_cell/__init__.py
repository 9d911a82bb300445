"""The python cell of pawl: runs one Python function and times its calls.

A worker starts __main__.py inside a sandbox and speaks docs/protocol.md with it
over descriptors 3 and 4. The package needs the standard library and the framework
of the kernel (PyTorch, CuPy, JAX or NumPy), nothing else. The kernel's code runs in
this process: what it does to it, it does to its own measurement, which is why
results carry `trust: author`.

Modules take names from each other when they are imported, never while samples are
taken: a name of another module's costs what one of its own does.
"""
