# problem: drawn_words
# target: both
# kind: honest
# mechanism: the word is searched in sums that only go up
# expect: correct
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, probabilities, number):
        sums = probabilities.cumsum(-1)
        found = torch.searchsorted(sums, (number * sums[:, -1])[:, None])[:, 0]
        return found.clamp(max=probabilities.shape[-1] - 1)
