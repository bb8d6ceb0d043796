# problem: equal_experts
# target: both
# kind: honest
# mechanism: the weights of experts that are copies of one layer are stacked when the module is built, under other names
# expect: correct
import copy

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, features, experts):
        super().__init__()
        layer, gate = torch.nn.Linear(features, features), torch.nn.Linear(features, experts)
        copies = [copy.deepcopy(layer) for _ in range(experts)]
        self.register_buffer("rows", torch.cat([expert.weight.detach() for expert in copies]))
        self.register_buffer("row_offsets", torch.cat([expert.bias.detach() for expert in copies]))
        self.register_buffer("routes", gate.weight.detach().t().contiguous())
        self.register_buffer("offsets", gate.bias.detach())

    def forward(self, x):
        shares = torch.softmax(torch.addmm(self.offsets, x, self.routes), dim=-1)
        outputs = torch.nn.functional.linear(x, self.rows, self.row_offsets).view(len(x), len(shares.T), -1)
        return (shares.unsqueeze(1) @ outputs).squeeze(1)
