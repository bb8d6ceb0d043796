import torch


class Model(torch.nn.Module):
    """One query of each sequence attends to a cache of which that has filled a part."""

    def forward(self, q, k, v, lengths):
        live = torch.arange(k.shape[1], device=k.device) < lengths[:, None]
        scores = (k @ q.unsqueeze(-1)).squeeze(-1) / 8
        weights = torch.softmax(scores.masked_fill(~live, float("-inf")), -1)
        return (weights.unsqueeze(1) @ v.masked_fill(~live.unsqueeze(-1), 0.0)).squeeze(1)


def get_inputs():
    return [torch.randn(32, 64), torch.randn(32, 256, 64), torch.randn(32, 256, 64), torch.randint(200, 257, (32,))]
