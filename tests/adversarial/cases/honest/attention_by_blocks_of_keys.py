# problem: weak_attention
# target: both
# kind: honest
# mechanism: blocks of keys with a running maximum
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, q, k, v):
        largest = torch.full_like(q[..., :1], float("-inf"))
        sums, above = torch.zeros_like(largest), torch.zeros_like(q)
        for at in range(0, k.shape[-2], 128):
            scores = q @ k[..., at : at + 128, :].mT / 8
            new = torch.maximum(largest, scores.amax(-1, keepdim=True))
            weights, before = torch.exp(scores - new), torch.exp(largest - new)
            sums = sums * before + weights.sum(-1, keepdim=True)
            above = above * before + weights @ v[..., at : at + 128, :]
            largest = new
        return above / sums
