# problem: empty
# target: both
# kind: honest
# mechanism: outputs without elements
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, nothing):
        return x + 1, torch.zeros(x.shape[0], device=x.device), x.new_empty(x.shape[0], 0)
