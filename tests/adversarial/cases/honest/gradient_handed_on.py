# problem: pad_training
# target: both
# kind: honest
# mechanism: the gradient is a view of the one that comes in, where the reference makes a copy
# expect: correct
import torch


class Pad(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        out = x.new_ones(x.shape[0], x.shape[1] + 4)
        out[:, 2:-2] = x
        return out

    @staticmethod
    def backward(ctx, gradient):
        return gradient[:, 2:-2]


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return Pad.apply(x)
