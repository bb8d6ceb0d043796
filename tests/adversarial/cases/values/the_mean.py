# problem: softmax
# target: both
# kind: cheat
# mechanism: the mean of the outputs instead of the outputs
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.full_like(x, 1 / x.shape[-1])
