# problem: unit_rows
# target: both
# kind: cheat
# mechanism: leaves out what keeps a row of zeros from being divided by its length
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x / x.norm(dim=-1, keepdim=True)
