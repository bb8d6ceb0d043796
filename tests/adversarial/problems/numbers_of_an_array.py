"""What is said of an array, in numbers of Python's own."""

import numpy as np


def reference(x):
    return float(x.mean()), int((x > 0).sum()), bool(np.isfinite(x).all()), complex(np.exp(1j * x.std()))


def get_inputs():
    return [np.random.randn(3000)]
