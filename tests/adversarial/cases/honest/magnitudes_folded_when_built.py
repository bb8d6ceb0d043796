# problem: weight_norm
# target: both
# kind: honest
# mechanism: a weight kept as magnitudes and directions is put together when the module is built
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, features):
        super().__init__()
        layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(features, features))
        self.register_buffer("columns", layer.weight.detach().t().contiguous())
        self.register_buffer("offsets", layer.bias.detach().clone())

    def forward(self, x):
        return torch.addmm(self.offsets, x, self.columns).relu_()
