# problem: without_answer
# target: both
# kind: honest
# mechanism: the reference has no answer on inputs of which a few elements were changed, nor on any other
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, y):
        return torch.where(x < 0, torch.nan, torch.igamma(x.abs(), y))
