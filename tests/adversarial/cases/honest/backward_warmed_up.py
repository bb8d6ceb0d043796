# problem: training
# target: both
# kind: honest
# mechanism: runs both passes once when it is built, to warm up, and leaves gradients behind
# expect: correct
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
        return inner @ weight, inner.t() @ x, inner.sum(0)


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(96, 48)
        with torch.random.fork_rng(devices=[]):
            self(torch.randn(8, 96)).sum().backward()

    def forward(self, x):
        return Step.apply(x, self.linear.weight, self.linear.bias)
