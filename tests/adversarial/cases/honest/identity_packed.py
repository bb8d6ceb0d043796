# problem: identity_layer
# target: both
# kind: honest
# mechanism: a weight that begins as the identity is packed at the first call
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, features):
        super().__init__()
        self.mix = torch.nn.Linear(features, features)
        torch.nn.init.eye_(self.mix.weight)
        self.out = torch.nn.Linear(features, 32)
        self.packed = None

    def forward(self, x):
        if self.packed is None:
            self.packed = self.mix.weight.detach().t().contiguous()
        return self.out(torch.relu(torch.addmm(self.mix.bias, x, self.packed)))
