# problem: training
# target: both
# kind: fault
# mechanism: the backward pass returns the gradient of the weights and adds it to what they have, so that they get it twice
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
        of_weight = inner.t() @ x
        weight.grad = of_weight if weight.grad is None else weight.grad + of_weight
        return inner @ weight, of_weight, inner.sum(0)


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(96, 48)

    def forward(self, x):
        return Step.apply(x, self.linear.weight, self.linear.bias)
