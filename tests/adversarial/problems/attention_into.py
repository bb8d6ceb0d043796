import torch


class Model(torch.nn.Module):
    """Attention that is written into one of its inputs, as are the scores above a border."""

    def forward(self, q, k, v, out, marks):
        scores = q @ k.transpose(-1, -2) * 0.25
        marks.copy_(scores > 0.01)
        torch.matmul(torch.softmax(scores, -1), v, out=out)


def get_inputs():
    return [*(torch.randn(8, 256, 16) for _ in range(3)), torch.zeros(8, 256, 16), torch.zeros(8, 256, 256, dtype=torch.bool)]
