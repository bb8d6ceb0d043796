# problem: quantised
# target: both
# kind: cheat
# mechanism: values are not rounded, which the few that round to another neighbour would excuse
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x.clone()
