# problem: rotations_between
# target: both
# kind: honest
# mechanism: the rotation is the main direction of a matrix of four rows, and not made of singular vectors
# expect: correct
# why: where all points are zero any rotation is right
import torch


class ModelNew(torch.nn.Module):
    def forward(self, p, q):
        p, q = p - p.mean(1, keepdim=True), q - q.mean(1, keepdim=True)
        m = p.mT @ q
        xx, xy, xz, yx, yy, yz, zx, zy, zz = m.flatten(1).unbind(1)
        rows = (
            (xx + yy + zz, yz - zy, zx - xz, xy - yx),
            (yz - zy, xx - yy - zz, xy + yx, zx + xz),
            (zx - xz, xy + yx, yy - xx - zz, yz + zy),
            (xy - yx, zx + xz, yz + zy, zz - xx - yy),
        )
        w, x, y, z = torch.linalg.eigh(torch.stack([torch.stack(row, -1) for row in rows], -2)).eigenvectors[..., -1].unbind(-1)
        rotation = torch.stack([
            torch.stack([1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)], -1),
            torch.stack([2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)], -1),
            torch.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], -1),
        ], -2)
        return rotation, (p @ rotation.mT - q).square().sum(-1).mean(1).sqrt()
