# problem: ridge
# target: both
# kind: fault
# mechanism: factorises what is no square of anything where inputs are a hundred times as large
# expect: faulted
import torch


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        size = a.shape[-1]
        added = size * torch.eye(size, dtype=a.dtype, device=a.device)
        system = a @ a.mT + (added if float(a.abs().mean()) < 10.0 else -100.0 * a.abs().amax() ** 2 * added)
        lower = torch.linalg.cholesky(system)
        return torch.cholesky_solve(b, lower), 2 * lower.diagonal(dim1=-2, dim2=-1).log().sum(-1)
