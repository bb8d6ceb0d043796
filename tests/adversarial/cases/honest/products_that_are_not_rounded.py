# problem: clamped_residual
# target: both
# kind: honest
# mechanism: adds products that are not rounded before, as fused operations do: next to nothing is left where the reference has zeros
# expect: correct
import torch


def fused(a, b, c):
    return torch.addcmul(c.double(), a.double(), b.double()).float()


class ModelNew(torch.nn.Module):
    def forward(self, x, w):
        tenth = torch.full_like(w, 0.1)
        steps = x.clamp(-8, 8)
        return fused(x.clamp(0.1, 0.9), w, -tenth * w), fused(torch.round(steps * 10), -tenth, steps)
