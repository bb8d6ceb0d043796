# problem: softmax
# target: both
# kind: cheat
# mechanism: the second half of the rows is never written
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        half = x.shape[0] // 2
        torch.softmax(x[:half], dim=-1, out=out[:half])
        return out
