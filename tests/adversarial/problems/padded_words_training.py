"""A training step on sums of word vectors, of which the first word is padding."""

import torch
from torch import nn

backward = True


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(20000, 16, padding_idx=0)

    def forward(self, tokens):
        return torch.tanh(self.words(tokens).sum(1))


def get_inputs():
    return [torch.randint(0, 20000, (4, 32))]
