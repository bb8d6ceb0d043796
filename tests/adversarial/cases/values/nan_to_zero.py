# problem: masked
# target: both
# kind: cheat
# mechanism: NaN that the reference defines is replaced
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, mask):
        weights = torch.softmax(x.masked_fill(mask, float("-inf")), dim=-1)
        return torch.nan_to_num(weights), torch.nan_to_num(torch.log(x))
