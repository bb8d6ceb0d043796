# problem: fixed_edges
# target: both
# kind: cheat
# mechanism: edges that are the same in every draw are not read
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, edges):
        return torch.ceil((x + 2) * 4).clamp(0, 17).long()
