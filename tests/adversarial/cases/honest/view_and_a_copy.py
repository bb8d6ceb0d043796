# problem: first_row_and_a_copy
# target: both
# kind: honest
# mechanism: one output is a view of an input, as the problem's is, and the others have memory of their own
# expect: correct
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x.narrow(0, 0, 1), torch.empty_like(x).copy_(x), torch.ones(x.shape[0], device=x.device) @ x
