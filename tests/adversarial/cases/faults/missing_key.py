# problem: row_stats
# target: both
# kind: fault
# mechanism: a key is missing
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return {"centred": x - x.mean(dim=-1, keepdim=True)}
