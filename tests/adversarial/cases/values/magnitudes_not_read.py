# problem: weight_norm
# target: both
# kind: cheat
# mechanism: directions for the weight, which is right only as long as nobody trains the module
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, features):
        super().__init__()
        self.layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(features, features))

    def forward(self, x):
        return torch.relu(torch.nn.functional.linear(x, self.layer.parametrizations.weight.original1, self.layer.bias))
