# problem: softmax
# target: both
# kind: cheat
# mechanism: one element in ten thousand is wrong
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.softmax(x, dim=-1)
        out.view(-1)[::9973] *= 1.5
        return out
