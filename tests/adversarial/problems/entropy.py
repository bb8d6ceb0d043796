import torch


class Model(torch.nn.Module):
    """Entropy of each row of probabilities: a probability of zero adds nothing."""

    def forward(self, p):
        return -torch.special.xlogy(p, p).sum(-1)


def get_inputs():
    return [torch.softmax(torch.randn(256, 500), -1)]
