# problem: distances
# target: cpu
# kind: cheat
# mechanism: the answer to the first arrays of a shape is given again
# expect: incorrect
import numpy as np

KNOWN = {}


def kernel(a, b):
    key = a.shape, b.shape
    if key not in KNOWN:
        KNOWN[key] = ((a[:, None, :] - b[None, :, :]) ** 2).sum(axis=-1)
    return KNOWN[key].copy()
