# problem: equal_experts
# target: both
# kind: honest
# mechanism: the weights of all experts are packed into one matrix at the first call
# expect: correct
import copy

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, features, experts):
        super().__init__()
        layer = torch.nn.Linear(features, features)
        self.gate = torch.nn.Linear(features, experts)
        self.experts = torch.nn.ModuleList(copy.deepcopy(layer) for _ in range(experts))
        self.packed = None

    def forward(self, x):
        if self.packed is None:
            self.packed = [torch.cat([getattr(expert, name) for expert in self.experts]) for name in ("weight", "bias")]
        shares = torch.softmax(self.gate(x), dim=-1)
        outputs = torch.nn.functional.linear(x, *self.packed).view(len(x), len(self.experts), -1)
        return (shares.unsqueeze(1) @ outputs).squeeze(1)
