# problem: chain
# target: both
# kind: cheat
# mechanism: intermediate values of a float32 problem in bfloat16
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, y):
        z = (torch.sigmoid(x) * y).bfloat16().float()
        return torch.tanh(z + x).clamp(-0.9, 0.9) * y
