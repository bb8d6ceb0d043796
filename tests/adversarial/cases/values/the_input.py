# problem: residual
# target: both
# kind: cheat
# mechanism: the input of a near-identity
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x.clone()
