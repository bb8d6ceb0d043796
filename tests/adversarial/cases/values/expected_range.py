# problem: softmax
# target: both
# kind: cheat
# mechanism: no maximum is subtracted: right for the inputs that were expected
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        e = torch.exp(x)
        return e / e.sum(dim=-1, keepdim=True)
