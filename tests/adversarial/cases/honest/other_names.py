# problem: network
# target: both
# kind: honest
# mechanism: layers under other names, packed at the first call
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, features, hidden):
        super().__init__()
        self.up = torch.nn.Linear(features, hidden)
        self.statistics = torch.nn.BatchNorm1d(hidden)
        self.down = torch.nn.Linear(hidden, features, bias=False)
        self.packed = None

    def forward(self, x):
        if self.packed is None:
            scale = self.statistics.weight * torch.rsqrt(self.statistics.running_var + self.statistics.eps)
            shift = self.statistics.bias - self.statistics.running_mean * scale
            self.packed = (self.up.weight * scale[:, None]).t().contiguous(), self.up.bias * scale + shift, self.down.weight.t().contiguous()
        up, bias, down = self.packed
        return torch.nn.functional.gelu(torch.addmm(bias, x, up)) @ down
