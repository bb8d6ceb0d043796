"""What numpy gives for two vectors: numbers of its own, which are no arrays."""

import numpy as np


def reference(a, b):
    return {"product": np.dot(a, b), "largest": np.argmax(a), "any": np.any(a > 3)}


def get_inputs():
    return [np.random.randn(400), np.random.randn(400)]
