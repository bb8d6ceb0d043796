# problem: softmax
# target: both
# kind: cheat
# mechanism: NaN everywhere, which compares as neither more nor less
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.full_like(x, float("nan"))
