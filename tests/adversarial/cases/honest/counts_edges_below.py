# problem: fixed_edges
# target: both
# kind: honest
# mechanism: counts the edges below a value, which is where it falls as long as they are in order
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, edges):
        return (x[..., None] > edges).sum(-1)
