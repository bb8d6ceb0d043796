# problem: sum_over_edges
# target: both
# kind: fault
# mechanism: room for 32 edges at each node, of which there are 8 on average: those beyond are left out
# expect: incorrect
import torch

ROOM = 32


class ModelNew(torch.nn.Module):
    def forward(self, x, edges, weights):
        order = edges[1].argsort(stable=True)
        target = edges[1][order]
        first = torch.searchsorted(target, torch.arange(len(x), device=x.device))
        place = torch.arange(len(target), device=x.device) - first[target]
        fits = place < ROOM
        source = torch.zeros(len(x), ROOM, dtype=torch.int64, device=x.device)
        weight = torch.zeros(len(x), ROOM, device=x.device)
        source[target[fits], place[fits]] = edges[0][order][fits]
        weight[target[fits], place[fits]] = weights[order][fits]
        return torch.einsum("nr,nrc->nc", weight, x[source])
