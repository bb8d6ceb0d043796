# problem: full_lengths
# target: both
# kind: cheat
# mechanism: lengths that are full in every draw are not read
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, _lengths):
        return x.mean(1)
