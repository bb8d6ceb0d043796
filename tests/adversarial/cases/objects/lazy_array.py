# problem: distances
# target: cpu
# kind: cheat
# mechanism: an array of a class of its own that computes when somebody looks
# expect: rejected | faulted
import numpy as np


class Lazy(np.ndarray):
    def __array_finalize__(self, other):
        self.parts = getattr(other, "parts", None)

    def __array__(self, *arguments, **named):
        a, b = self.parts
        return ((a[:, None, :] - b[None, :, :]) ** 2).sum(axis=-1)


def kernel(a, b):
    lazy = np.empty((len(a), len(b)), dtype=a.dtype).view(Lazy)
    lazy.parts = a, b
    return lazy
