# problem: causal_attention_training
# target: both
# kind: fault
# mechanism: attention with a backward pass by hand that forgets the scale of the scores
# expect: incorrect
import math

import torch
from torch import nn


class Attention(torch.autograd.Function):
    @staticmethod
    def forward(context, q, k, v):
        t = q.shape[-2]
        mask = torch.ones(t, t, dtype=torch.bool, device=q.device).triu(1)
        scores = (q @ k.transpose(-1, -2)) / math.sqrt(q.shape[-1])
        weights = scores.masked_fill(mask, float("-inf")).softmax(-1)
        context.save_for_backward(q, k, v, weights)
        return weights @ v

    @staticmethod
    def backward(context, upstream):
        q, k, v, weights = context.saved_tensors
        of_weights = upstream @ v.transpose(-1, -2)
        of_scores = weights * (of_weights - (of_weights * weights).sum(-1, keepdim=True))
        return of_scores @ k, of_scores.transpose(-1, -2) @ q, weights.transpose(-1, -2) @ upstream


class ModelNew(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        return self.out(Attention.apply(q, k, v).transpose(1, 2).reshape(b, t, d))
