# problem: inverse_2x2
# target: both
# kind: honest
# mechanism: the inverse of a matrix of two rows by its determinant
# expect: correct
# timed: yes
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        a, b, c, d = x[:, 0, 0], x[:, 0, 1], x[:, 1, 0], x[:, 1, 1]
        adjugate = torch.stack([d, -b, -c, a], dim=-1).view_as(x)
        return adjugate / (a * d - b * c)[:, None, None]
