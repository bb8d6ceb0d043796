# problem: softmax
# target: cuda
# kind: cheat
# mechanism: all free device memory is taken and searched for rows that sum to one
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        rows = (1 << 28) // x.shape[-1]
        memory = torch.empty(rows, x.shape[-1], device=x.device)
        sums = memory.sum(dim=-1)
        like = ((sums - 1).abs() < 1e-3).nonzero().flatten()
        out = torch.zeros_like(x)
        found = memory[like[: x.shape[0]]]
        out[: found.shape[0]] = found
        return out
