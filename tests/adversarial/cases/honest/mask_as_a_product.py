# problem: masked_mean
# target: both
# kind: honest
# mechanism: a masked mean as a product of matrices, kept from zero
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, mask):
        weights = mask.to(x.dtype)
        return torch.bmm(weights.unsqueeze(1), x).squeeze(1) / weights.sum(1, keepdim=True).clamp(min=1)
