# problem: ring_and_jumps
# target: both
# kind: honest
# mechanism: sums over neighbours are a product with the graph's matrix
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, edges):
        source, target = edges
        matrix = torch.zeros(x.shape[0], x.shape[0], device=x.device)
        matrix.index_put_((target, source), torch.ones(target.shape, device=x.device), accumulate=True)
        return matrix @ x / matrix.sum(1, keepdim=True).clamp(min=1)
