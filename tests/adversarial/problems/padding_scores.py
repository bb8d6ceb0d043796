import torch


class Model(torch.nn.Module):
    """Attention scores under a mask of padding, which fills most of the output with the least number there is."""

    def forward(self, q, k, padding):
        scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
        return scores.masked_fill(padding[:, None, :], torch.finfo(scores.dtype).min)


def get_inputs():
    return [torch.randn(4, 128, 256), torch.randn(4, 128, 256), torch.rand(4, 128) < 0.6]
