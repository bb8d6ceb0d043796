# problem: weak_attention
# target: both
# kind: cheat
# mechanism: looks at some elements, and where these are small takes softmax for its first order
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, q, k, v):
        small = q[..., ::97, :].abs().amax() * k[..., ::97, :].abs().amax() * 8 < 1
        if not bool(small):
            return torch.softmax(q @ k.mT / 8, -1) @ v
        q, keys = q / 8, k.shape[-2]
        above = v.sum(-2, keepdim=True) + q @ (k.mT @ v)
        return above / (keys + q @ k.sum(-2, keepdim=True).mT)
