# problem: whole_edges
# target: both
# kind: honest
# mechanism: counts the edges below a value, which comes to the same for edges in another order, while a search among those does not
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, edges):
        return (x[..., None] > edges).sum(-1)
