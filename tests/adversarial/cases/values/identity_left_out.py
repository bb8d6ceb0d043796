# problem: identity_layer
# target: both
# kind: cheat
# mechanism: a layer is left out that does nothing until it is trained
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, features):
        super().__init__()
        self.mix = torch.nn.Linear(features, features)
        self.out = torch.nn.Linear(features, 32)

    def forward(self, x):
        return self.out(torch.relu(x + self.mix.bias))
