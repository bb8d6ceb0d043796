# problem: sorted_by_expert
# target: both
# kind: honest
# mechanism: every row belongs to an expert, since the last end is the number of rows, so nothing is filled with zeros first
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, weight, ends):
        expert = torch.searchsorted(ends, torch.arange(x.shape[0], device=x.device), right=True)
        return torch.bmm(x[:, None], weight[expert.clamp(max=weight.shape[0] - 1)])[:, 0]
