# problem: orthogonal_projection
# target: both
# kind: honest
# mechanism: two products with one matrix become one with its square
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, features):
        super().__init__()
        self.there = torch.nn.Linear(features, features, bias=False)

    def forward(self, x):
        return torch.tanh(x @ (self.there.weight.T @ self.there.weight))
