# problem: transposed
# target: both
# kind: honest
# mechanism: dense outputs where the reference gives views
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, y):
        return (x + y).t().contiguous(), x[:, ::2].contiguous()
