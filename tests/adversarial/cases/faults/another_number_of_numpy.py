# problem: numbers_of_an_array
# target: cpu
# kind: fault
# mechanism: numpy's own numbers, one of them a mean that leaves the end out
# expect: incorrect
import numpy as np


def kernel(x):
    angle = x.std()
    return x[:-100].mean(), np.count_nonzero(x > 0), np.isfinite(x).all(), np.complex128(np.cos(angle) + 1j * np.sin(angle))
