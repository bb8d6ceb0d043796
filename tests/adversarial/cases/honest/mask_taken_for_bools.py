# problem: masked_moments
# target: both
# kind: honest
# mechanism: a mask of floats, zero or one in every draw, is asked whether it is zero
# timed: yes
# expect: correct
# finding: input_structure
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, mask):
        lets_in = mask != 0
        count = lets_in.sum(1).clamp(min=1).to(x.dtype)
        mean = torch.where(lets_in, x, 0.0).sum(1) / count
        return mean, torch.where(lets_in, x - mean[:, None], 0.0).square().sum(1) / count
