"""The loss of words of a large vocabulary, of which a draw has only few."""

import torch

WORDS, VOCABULARY = 192, 8192


class Model(torch.nn.Module):
    def forward(self, scores, words):
        return torch.nn.functional.cross_entropy(scores, words, reduction="none")


def get_inputs():
    return [torch.randn(WORDS, VOCABULARY), torch.randint(VOCABULARY, (WORDS,))]
