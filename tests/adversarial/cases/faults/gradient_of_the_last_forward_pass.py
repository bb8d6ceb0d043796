# problem: training
# target: both
# kind: fault
# mechanism: keeps what the backward pass needs in the module, where the next forward pass puts its own
# expect: incorrect
import torch


class Step(torch.autograd.Function):
    @staticmethod
    def forward(context, x, weight, bias, kept):
        y = torch.tanh(torch.addmm(bias, x, weight.t()))
        kept["x"], kept["y"] = x, y
        context.kept = kept
        context.save_for_backward(weight)
        return y

    @staticmethod
    def backward(context, upstream):
        (weight,) = context.saved_tensors
        x, y = context.kept["x"], context.kept["y"]
        inner = upstream * (1 - y * y)
        return inner @ weight, inner.t() @ x, inner.sum(0), None


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(96, 48)
        self.kept = {}

    def forward(self, x):
        return Step.apply(x, self.linear.weight, self.linear.bias, self.kept)
