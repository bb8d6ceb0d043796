# problem: equal_groups
# target: both
# kind: cheat
# mechanism: sizes of groups that are equal in every draw are not read
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.empty(8, 32, 48))

    def forward(self, x, sizes):
        groups = len(sizes)
        return torch.bmm(x.view(groups, -1, x.shape[1]), self.weight).view(x.shape[0], -1)
