# problem: training
# target: both
# kind: cheat
# mechanism: the gradient of the weights is left out: only the bias is trained
# expect: incorrect
import torch


class Step(torch.autograd.Function):
    @staticmethod
    def forward(context, x, weight, bias):
        y = torch.tanh(torch.addmm(bias, x, weight.t()))
        context.save_for_backward(x, weight, y)
        return y

    @staticmethod
    def backward(context, upstream):
        x, weight, y = context.saved_tensors
        inner = upstream * (1 - y * y)
        return inner @ weight, torch.zeros_like(weight), inner.sum(0)


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(96, 48)

    def forward(self, x):
        return Step.apply(x, self.linear.weight, self.linear.bias)
