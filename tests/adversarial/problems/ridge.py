import torch


class Model(torch.nn.Module):
    """What solves a regularised system, and the logarithm of its determinant."""

    def forward(self, a, b):
        system = a @ a.mT + a.shape[-1] * torch.eye(a.shape[-1], dtype=a.dtype, device=a.device)
        return torch.linalg.solve(system, b), torch.logdet(system)


def get_inputs():
    return [torch.randn(4, 24, 24, dtype=torch.float64), torch.randn(4, 24, 3, dtype=torch.float64)]
