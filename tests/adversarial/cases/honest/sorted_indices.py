# problem: topk
# target: both
# kind: honest
# mechanism: values and indices by a full sort
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        values, indices = torch.sort(x, dim=-1, descending=True)
        return values[:, :4], indices[:, :4]
