# problem: linear_relu_training
# target: both
# kind: cheat
# mechanism: packs a trained weight at the first backward pass and goes on with it, though an optimizer changes it in place
# expect: incorrect
import torch

packed = []


class LinearRelu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        out = torch.addmm(bias, x, weight.t()).clamp_(min=0)
        ctx.save_for_backward(x, weight, out)
        return out

    @staticmethod
    def backward(ctx, gradient):
        x, weight, out = ctx.saved_tensors
        if not packed:
            packed.append(weight.detach().t().contiguous())
        gradient = torch.where(out > 0, gradient, 0.0)
        return gradient @ packed[0].t(), gradient.t() @ x, gradient.sum(0)


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(128, 96)

    def forward(self, x):
        return LinearRelu.apply(x, self.linear.weight, self.linear.bias)
