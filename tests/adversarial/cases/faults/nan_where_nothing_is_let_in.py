# problem: let_in
# target: both
# kind: fault
# mechanism: minus infinity less minus infinity: NaN for a row where nothing is let in, in the place of minus infinity
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, mask):
        x = torch.where(mask, x, float("-inf"))
        largest = x.amax(-1, keepdim=True)
        return (torch.exp(x - largest).sum(-1, keepdim=True).log() + largest)[:, 0]
