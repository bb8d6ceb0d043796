# problem: training
# target: both
# kind: cheat
# mechanism: only the forward pass is computed, cut off from the graph
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(96, 48)

    def forward(self, x):
        with torch.no_grad():
            return torch.tanh(self.linear(x))
