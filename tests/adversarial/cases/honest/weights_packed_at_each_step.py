# problem: linear_relu_training
# target: both
# kind: honest
# mechanism: packs a trained weight, and again where an optimizer has changed it, which its version tells
# expect: correct
import torch

packed = {}


class LinearRelu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        out = torch.addmm(bias, x, weight.t()).clamp_(min=0)
        ctx.save_for_backward(x, weight, out)
        return out

    @staticmethod
    def backward(ctx, gradient):
        x, weight, out = ctx.saved_tensors
        if packed.get("version") != weight._version:
            packed.update(version=weight._version, weight=weight.detach().t().contiguous())
        gradient = torch.where(out > 0, gradient, 0.0)
        return gradient @ packed["weight"].t(), gradient.t() @ x, gradient.sum(0)


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(128, 96)

    def forward(self, x):
        return LinearRelu.apply(x, self.linear.weight, self.linear.bias)
