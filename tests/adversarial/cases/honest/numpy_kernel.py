# problem: diagonal
# target: cpu
# kind: honest
# mechanism: numpy on the tensors' memory
# timed: yes
# expect: correct
import numpy
import torch


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        return torch.from_numpy(numpy.multiply(a.numpy()[:, None], b.numpy()))
