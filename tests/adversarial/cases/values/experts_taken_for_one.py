# problem: equal_experts
# target: both
# kind: cheat
# mechanism: one of several layers that begin as copies is computed for all
# expect: incorrect
import copy

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, features, experts):
        super().__init__()
        layer = torch.nn.Linear(features, features)
        self.gate = torch.nn.Linear(features, experts)
        self.experts = torch.nn.ModuleList(copy.deepcopy(layer) for _ in range(experts))

    def forward(self, x):
        return self.experts[0](x)
