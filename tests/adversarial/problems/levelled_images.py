"""Images whose histogram is made even."""

import torch


class Model(torch.nn.Module):
    def forward(self, images):
        levelled = torch.empty_like(images)
        for image, out in zip(images, levelled):
            counts = torch.bincount(image.reshape(-1).long(), minlength=256)
            below = counts.cumsum(0)
            first = below[counts.nonzero()[0, 0]]
            others = (below[-1] - first).clamp(min=1)
            table = ((below - first).clamp(min=0) * 255 + others // 2) // others
            out.copy_(table[image.long()].to(torch.uint8))
        return levelled


def get_inputs():
    return [torch.randint(0, 256, (2, 48, 48), dtype=torch.uint8)]
