"""Honest functions. CHANGE is another word in every commit."""
import numpy


def scale(x):
    return 2 * x


def total(x):
    return numpy.array([x.sum()], x.dtype)
