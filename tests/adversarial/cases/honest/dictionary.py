# problem: row_stats
# target: both
# kind: honest
# mechanism: a dict with its keys in another order, a list for a tuple
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        mean = x.sum(dim=-1, keepdim=True) / x.shape[-1]
        return {"mask": None, "positive": torch.count_nonzero(x > 0, dim=-1), "extremes": list(torch.aminmax(x, dim=-1)), "centred": x - mean}
