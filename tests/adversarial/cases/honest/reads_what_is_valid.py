# problem: valid_prefix
# target: both
# kind: honest
# mechanism: a mask that lets in the beginning of every row, in every draw, is taken for its lengths
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, mask):
        lengths = mask.sum(1).tolist()
        mean = torch.stack([x[row, :length].mean(0) for row, length in enumerate(lengths)])
        return mean, torch.stack([x[row, length - 1] for row, length in enumerate(lengths)])
