# problem: softmax
# target: both
# kind: cheat
# mechanism: a tensor whose storage was given back
# expect: rejected | incorrect | faulted
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.softmax(x, dim=-1)
        out.untyped_storage().resize_(0)
        return out
