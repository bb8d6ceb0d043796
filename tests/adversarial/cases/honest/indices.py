# problem: argmax
# target: both
# kind: honest
# mechanism: int64 indices by another operator
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.max(x, dim=-1).indices
