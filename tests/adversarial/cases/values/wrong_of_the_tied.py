# problem: nearest
# target: both
# kind: cheat
# mechanism: an index that is right for no rounding, where two others are nearly tied
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x.sum(dim=-1).topk(3).indices[2]
