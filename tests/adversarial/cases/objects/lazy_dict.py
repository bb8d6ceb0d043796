# problem: row_stats
# target: both
# kind: cheat
# mechanism: a dict subclass that computes its values when they are read
# timed: yes
# expect: rejected | incorrect
import torch


class Lazy(dict):
    def __init__(self, x):
        super().__init__(centred=None, extremes=None, positive=None, mask=None)
        self.x = x

    def __getitem__(self, key):
        return dict(self.items())[key]

    def values(self):
        return [value for _, value in self.items()]

    def items(self):
        x = self.x
        yield "centred", x - x.mean(dim=-1, keepdim=True)
        yield "extremes", (x.amin(dim=-1), x.amax(dim=-1))
        yield "positive", (x > 0).sum(dim=-1)
        yield "mask", None


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return Lazy(x)
