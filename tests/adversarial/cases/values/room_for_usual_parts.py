# problem: sums_between_cuts
# target: both
# kind: fault
# mechanism: has room for parts of up to an eighth of the list, and leaves out what goes beyond
# expect: incorrect
# why: of 128 parts with borders from anywhere the longest is a twentieth of all; borders at the ends and a few more make longer ones
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, cuts):
        borders = [0, *cuts.sort().values.tolist(), len(x)]
        return torch.stack([x[begin : min(end, begin + len(x) // 8)].sum() for begin, end in zip(borders, borders[1:])])
