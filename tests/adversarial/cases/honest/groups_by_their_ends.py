# problem: equal_groups
# target: both
# kind: honest
# mechanism: writes group by group into memory that nothing was in, and relies on sizes that add up to all rows
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.empty(8, 32, 48))

    def forward(self, x, sizes):
        out = x.new_empty(x.shape[0], self.weight.shape[-1])
        begin = 0
        for end, weight in zip(sizes.cumsum(0).tolist(), self.weight):
            torch.mm(x[begin:end], weight, out=out[begin:end])
            begin = end
        return out
