# problem: full_lengths
# target: both
# kind: honest
# mechanism: reads lengths that are full in every draw, and no more than the longest
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, lengths):
        x = x[:, : int(lengths.max())]
        inside = (torch.arange(x.shape[1], device=x.device) < lengths[:, None]).to(x.dtype)
        return torch.einsum("btc,bt->bc", x, inside) / lengths[:, None]
