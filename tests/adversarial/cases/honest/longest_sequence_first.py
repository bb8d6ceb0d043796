# problem: few_lengths
# target: both
# kind: honest
# mechanism: takes sequences by their lengths, the longest first
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, lengths):
        out = x.new_empty(x.shape[0], x.shape[2])
        for at in lengths.argsort(descending=True).tolist():
            out[at] = x[at, : int(lengths[at])].amax(0)
        return out
