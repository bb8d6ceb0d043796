# problem: softmax
# target: both
# kind: cheat
# mechanism: the last column is never written
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        out[:, :-1] = torch.softmax(x, dim=-1)[:, :-1]
        return out
