# problem: padding_added
# target: both
# kind: fault
# mechanism: an infinity less an infinity where nothing of the first block is let in
# expect: incorrect
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, q, k, v, mask):
        most = torch.full((*q.shape[:2], 1), float("-inf"), device=q.device)
        total = torch.zeros_like(most)
        out = torch.zeros_like(q)
        for begin in range(0, k.shape[1], 16):
            part = slice(begin, begin + 16)
            scores = q @ k[:, part].transpose(-1, -2) / 8 + mask[..., part]
            larger = torch.maximum(most, scores.amax(-1, keepdim=True))
            base = larger
            weights = torch.exp(scores - base)
            kept = torch.exp(most - base)
            total = total * kept + weights.sum(-1, keepdim=True)
            out = out * kept + weights @ v[:, part]
            most = larger
        return out / total
