"""How alike images and texts are, sharpened by a learned scale."""

import math

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.projection = nn.Linear(d, d, bias=False)
        self.logit_scale = nn.Parameter(torch.ones([]) * math.log(1 / 0.07))

    def forward(self, images, texts):
        images = nn.functional.normalize(self.projection(images), dim=-1)
        texts = nn.functional.normalize(texts, dim=-1)
        return self.logit_scale.exp() * images @ texts.t()


def get_inputs():
    return [torch.randn(64, 96), torch.randn(48, 96)]


def get_init_inputs():
    return [96]
