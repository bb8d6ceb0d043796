import torch


class Model(torch.nn.Module):
    """Thirty steps towards the plan of least cost whose rows and columns all have the same sums."""

    def forward(self, cost):
        kernel = torch.exp(-2 * cost)
        rows, columns = kernel.shape
        right = torch.ones(columns, 1, device=cost.device, dtype=cost.dtype)
        for _ in range(30):
            left = 1 / rows / (kernel @ right)
            right = 1 / columns / (kernel.T @ left)
        return left * kernel * right.T


def get_inputs():
    return [torch.rand(384, 384)]
