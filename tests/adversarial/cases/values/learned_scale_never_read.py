# problem: contrastive_scores
# target: both
# kind: cheat
# mechanism: a learned scale is the number that it begins with
# expect: incorrect
import math

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.projection = nn.Linear(d, d, bias=False)
        self.logit_scale = nn.Parameter(torch.ones([]) * math.log(1 / 0.07))
        self.scale = 1 / 0.07

    def forward(self, images, texts):
        images = nn.functional.normalize(self.projection(images), dim=-1)
        texts = nn.functional.normalize(texts, dim=-1)
        return (self.scale * images) @ texts.t()
