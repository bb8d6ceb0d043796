# problem: corrected_routing
# target: both
# kind: honest
# mechanism: scores are corrected and chosen from, and weighed as they were
# expect: correct
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
        experts = torch.add(scores, self.correction_bias).topk(self.chosen, -1).indices
        weights = scores.gather(1, experts)
        return weights / weights.sum(-1, keepdim=True), experts
