# problem: weight_norm
# target: both
# kind: honest
# mechanism: rows are scaled after the product
# timed: yes
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, features):
        super().__init__()
        self.layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(features, features))

    def forward(self, x):
        sizes, rows = self.layer.parametrizations.weight.original0, self.layer.parametrizations.weight.original1
        return torch.relu((x @ rows.T) * (sizes.squeeze(1) / rows.norm(dim=1)) + self.layer.bias)
