# problem: rotary
# target: both
# kind: cheat
# mechanism: what float32 rounds in a table of angles is no leave for half precision
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        steps, features = x.shape[1], x.shape[-1]
        frequencies = 1.0 / (10000 ** (torch.arange(0, features, 2, device=x.device).float() / features))
        angles = torch.arange(steps, device=x.device).float()[:, None] * frequencies
        cos, sin = angles.cos()[:, None].half(), angles.sin()[:, None].half()
        first, second = x.half().chunk(2, -1)
        return torch.cat([first * cos - second * sin, second * cos + first * sin], -1).float()
