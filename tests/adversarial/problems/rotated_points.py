import torch
from torch import nn


class Model(nn.Module):
    def forward(self, rotations, points):
        w, x, y, z = rotations.unbind(-1)
        rows = (
            (w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)),
            (2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)),
            (2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z),
        )
        matrices = torch.stack([torch.stack(row, -1) for row in rows], -2)
        return (matrices @ points[..., None])[..., 0]


def get_inputs():
    return [nn.functional.normalize(torch.randn(20000, 4), dim=1), torch.randn(20000, 3)]
