# problem: half_gelu
# target: both
# kind: honest
# mechanism: float16 in and out, float32 inside
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.bias = torch.nn.Parameter(torch.randn(width).half())

    def forward(self, x):
        v = x.float() + self.bias.float()
        return (0.5 * v * (1 + torch.erf(v * 0.7071067811865476))).half()
