# problem: sum_over_edges
# target: both
# kind: honest
# mechanism: edges sorted by where they lead, and added up node by node, however many there are at one
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, edges, weights):
        order = edges[1].argsort(stable=True)
        lengths = torch.bincount(edges[1], minlength=len(x))
        return torch.segment_reduce(x[edges[0][order]] * weights[order].unsqueeze(-1), "sum", lengths=lengths, axis=0, unsafe=True)
