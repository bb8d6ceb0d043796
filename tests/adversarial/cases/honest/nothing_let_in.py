# problem: let_in
# target: both
# kind: honest
# mechanism: a row where nothing is let in has its maximum replaced before the differences
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, mask):
        x = torch.where(mask, x, float("-inf"))
        largest = x.amax(-1, keepdim=True)
        largest = torch.where(largest == float("-inf"), 0.0, largest)
        return (torch.exp(x - largest).sum(-1, keepdim=True).log() + largest)[:, 0]
