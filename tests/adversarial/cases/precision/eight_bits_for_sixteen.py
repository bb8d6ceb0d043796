# problem: half_norm
# target: both
# kind: cheat
# mechanism: a bfloat16 problem in eight-bit floats
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.rand(width, dtype=torch.bfloat16) + 0.5)

    def forward(self, x):
        x = x.to(torch.float8_e4m3fn).float()
        return (x * torch.rsqrt(x.pow(2).mean(dim=-1, keepdim=True) + 1e-6)).bfloat16() * self.weight
