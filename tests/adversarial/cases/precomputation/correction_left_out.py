# problem: corrected_routing
# target: both
# kind: cheat
# mechanism: a buffer that corrects scores, and is zero until somebody has trained the module, is left out
# expect: incorrect
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width, experts, chosen):
        super().__init__()
        self.chosen = chosen
        self.weight = nn.Parameter(torch.randn(experts, width) * width**-0.5)
        self.register_buffer("correction_bias", torch.zeros(experts))

    def forward(self, x):
        scores = torch.sigmoid_(nn.functional.linear(x, self.weight))
        weights, experts = scores.topk(self.chosen, -1)
        return weights / weights.sum(-1, keepdim=True), experts
