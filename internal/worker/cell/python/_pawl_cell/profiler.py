"""Nsight Compute, where the cell runs under it."""

import ctypes

from .fault import Fault

INVALID_CONTEXT = 201


class looking:
    """What is launched inside is profiled."""

    def __enter__(self):
        self.driver = ctypes.CDLL("libcuda.so.1")  # the one that the framework has loaded
        if self.driver.cuProfilerStart() == INVALID_CONTEXT:  # this thread has none: JAX works on others
            context = ctypes.c_void_p()
            self.driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
            self.driver.cuCtxSetCurrent(context)
            self.check("cuProfilerStart", self.driver.cuProfilerStart())

    def __exit__(self, *error):
        self.check("cuProfilerStop", self.driver.cuProfilerStop())

    @staticmethod
    def check(name, code):
        if code:
            raise Fault("internal", f"{name} returned {code}")
