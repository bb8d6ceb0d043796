# problem: contrastive_scores
# target: both
# kind: honest
# mechanism: a learned scale is read when the module is built
# expect: correct
import math

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.projection = nn.Linear(d, d, bias=False)
        self.logit_scale = nn.Parameter(torch.ones([]) * math.log(1 / 0.07))
        self.scale = math.exp(self.logit_scale.item())

    def forward(self, images, texts):
        images = nn.functional.normalize(self.projection(images), dim=-1)
        texts = nn.functional.normalize(texts, dim=-1)
        return (self.scale * images) @ texts.t()
