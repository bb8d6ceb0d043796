# problem: noisy_when_large
# target: both
# kind: honest
# mechanism: the reference gives other outputs each time, on larger inputs than its own
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.where(x.abs() > 50, x + torch.randn_like(x), x + x)
