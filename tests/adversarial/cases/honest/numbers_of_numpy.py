# problem: numbers_of_an_array
# target: cpu
# kind: honest
# mechanism: numpy's own numbers where the problem has Python's
# expect: correct
import numpy as np


def kernel(x):
    angle = np.sqrt(np.mean(np.square(x - x.mean())))
    return np.add.reduce(x) / x.size, np.count_nonzero(x > 0), np.isfinite(x).all(), np.complex128(np.cos(angle) + 1j * np.sin(angle))
