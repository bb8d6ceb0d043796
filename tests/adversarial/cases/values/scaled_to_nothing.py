# problem: layer_scale
# target: both
# kind: cheat
# mechanism: a branch is left out that counts for next to nothing until the module is trained
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, features):
        super().__init__()

    def forward(self, x):
        return x.clone()
