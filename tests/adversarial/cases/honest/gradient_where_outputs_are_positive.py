# problem: linear_relu_training
# target: both
# kind: honest
# mechanism: multiplies gradients by whether outputs are above zero, which a NaN is not, and of which an inf makes a NaN
# expect: correct
import torch


class LinearRelu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        out = torch.addmm(bias, x, weight.t()).clamp_(min=0)
        ctx.save_for_backward(x, weight, out)
        return out

    @staticmethod
    def backward(ctx, gradient):
        x, weight, out = ctx.saved_tensors
        gradient = gradient * (out > 0)
        return gradient @ weight, gradient.t() @ x, gradient.sum(0)


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(128, 96)

    def forward(self, x):
        return LinearRelu.apply(x, self.linear.weight, self.linear.bias)
