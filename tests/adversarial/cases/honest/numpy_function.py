# problem: distances
# target: cpu
# kind: honest
# mechanism: a function on numpy arrays that makes no array of squares
# timed: yes
# expect: correct
import numpy as np


def kernel(a, b):
    apart = a[:, None, :] - b[None, :, :]
    return np.einsum("ijk,ijk->ij", apart, apart)
