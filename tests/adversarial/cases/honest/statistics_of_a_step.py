# problem: batch_norm_training
# target: both
# kind: honest
# mechanism: a batch norm whose backward pass is written by hand, and whose forward pass moves the running statistics
# expect: correct
import torch
from torch import nn


class Norm(torch.autograd.Function):
    @staticmethod
    def forward(context, x, weight, bias, running_mean, running_var):
        count = x.shape[0]
        mean = x.mean(0)
        centred = x - mean
        var = centred.square().mean(0)
        running_mean.lerp_(mean, 0.1)
        running_var.lerp_(var * (count / (count - 1)), 0.1)
        scale = torch.rsqrt(var + 1e-5)
        normal = centred * scale
        context.save_for_backward(normal, scale, weight)
        return normal * weight + bias

    @staticmethod
    def backward(context, upstream):
        normal, scale, weight = context.saved_tensors
        of_weight, of_bias = (upstream * normal).sum(0), upstream.sum(0)
        count = upstream.shape[0]
        return weight * scale / count * (count * upstream - of_bias - normal * of_weight), of_weight, of_bias, None, None


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.BatchNorm1d(channels)

    def forward(self, x):
        norm = self.norm
        return Norm.apply(x, norm.weight, norm.bias, norm.running_mean, norm.running_var)
