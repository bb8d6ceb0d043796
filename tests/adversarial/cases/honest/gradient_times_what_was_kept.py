# problem: exponentials_training
# target: both
# kind: honest
# mechanism: multiplies what the forward pass has kept by a mask, which makes NaN of what overflows there, where the reference selects zeros
# expect: correct
import torch


class Exponentials(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        first = x > y
        terms = torch.where(first, x, y).exp_()
        ctx.save_for_backward(first, terms)
        return terms.sum(-1), torch.where(first, y, x)

    @staticmethod
    def backward(ctx, of_sum, of_smaller):
        first, terms = ctx.saved_tensors
        of_terms = terms * of_sum[:, None]
        return of_terms * first + of_smaller * ~first, of_terms * ~first + of_smaller * first


class ModelNew(torch.nn.Module):
    def forward(self, x, y):
        return Exponentials.apply(x, y)
