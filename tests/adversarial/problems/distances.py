"""A function on numpy arrays: squared distances between rows."""

import numpy as np


def reference(a, b):
    return ((a[:, None, :] - b[None, :, :]) ** 2).sum(axis=-1)


def get_inputs():
    return [np.random.randn(64, 16).astype(np.float32), np.random.randn(48, 16).astype(np.float32)]
