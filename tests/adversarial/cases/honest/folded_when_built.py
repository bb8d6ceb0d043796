# problem: network
# target: both
# kind: honest
# mechanism: a norm is folded into the layer before it while the module is built, inside a module of its own, and its layers are gone afterwards
# expect: correct
import torch


class Folded(torch.nn.Module):
    def __init__(self, features, hidden):
        super().__init__()
        layer, norm = torch.nn.Linear(features, hidden), torch.nn.BatchNorm1d(hidden)
        with torch.no_grad():
            scale = norm.weight * torch.rsqrt(norm.running_var + norm.eps)
            self.register_buffer("scaled", layer.weight * scale[:, None])
            self.register_buffer("shifted", (layer.bias - norm.running_mean) * scale + norm.bias)

    def forward(self, x):
        return torch.nn.functional.gelu(torch.nn.functional.linear(x, self.scaled, self.shifted))


class ModelNew(torch.nn.Module):
    def __init__(self, features, hidden):
        super().__init__()
        self.begin = Folded(features, hidden)
        self.end = torch.nn.Linear(hidden, features, bias=False)

    def forward(self, x):
        return self.end(self.begin(x))
