# problem: masked_mean
# target: both
# kind: fault
# mechanism: divides by the number of rows that a mask lets in, which may be none
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, mask):
        weights = mask.to(x.dtype)
        return torch.bmm(weights.unsqueeze(1), x).squeeze(1) / weights.sum(1, keepdim=True)
