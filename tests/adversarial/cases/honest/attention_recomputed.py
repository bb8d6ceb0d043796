# problem: attention_training
# target: both
# kind: honest
# mechanism: recomputes the weights of attention in the backward pass, whose terms cancel in another way
# expect: correct
import torch


class Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v):
        scores = q @ k.transpose(-1, -2) * 0.25
        total = torch.logsumexp(scores, -1, keepdim=True)
        out = (scores - total).exp() @ v
        ctx.save_for_backward(q, k, v, total, out)
        return out

    @staticmethod
    def backward(ctx, gradient):
        q, k, v, total, out = ctx.saved_tensors
        weights = (q @ k.transpose(-1, -2) * 0.25 - total).exp()
        of_weights = gradient @ v.transpose(-1, -2)
        of_scores = weights * (of_weights - (gradient * out).sum(-1, keepdim=True)) * 0.25
        return of_scores @ k, of_scores.transpose(-1, -2) @ q, weights.transpose(-1, -2) @ gradient


class ModelNew(torch.nn.Module):
    def forward(self, q, k, v):
        return Attention.apply(q, k, v)
