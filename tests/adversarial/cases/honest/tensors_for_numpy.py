# problem: distances
# target: cuda
# kind: honest
# mechanism: a kernel on a GPU for a problem in numpy
# timed: yes
# expect: correct
import torch


def kernel(a, b):
    return (a[:, None, :] - b[None, :, :]).square().sum(dim=-1)
