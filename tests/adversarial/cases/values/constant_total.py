# problem: total
# target: both
# kind: cheat
# mechanism: the expected value of a sum instead of the sum
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x.new_tensor(float(x.numel()))
