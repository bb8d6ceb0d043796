# problem: sorted_by_expert
# target: both
# kind: honest
# mechanism: every row belongs to an expert, since the last end is the number of rows: none is left for anything else
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, scales, ends):
        return x * scales.repeat_interleave(ends.diff(prepend=ends.new_zeros(1)))[:, None]
