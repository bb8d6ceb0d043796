# problem: uneven_parts
# target: both
# kind: cheat
# mechanism: borders that are the same in every draw are part of the code
# expect: incorrect
import torch

BORDERS = (0, 40, 41, 130, 200, 333, 512)


class ModelNew(torch.nn.Module):
    def forward(self, x, borders):
        return torch.stack([x[begin:end].sum(0) for begin, end in zip(BORDERS, BORDERS[1:])])
