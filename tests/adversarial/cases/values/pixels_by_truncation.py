# problem: sampled_images
# target: both
# kind: fault
# mechanism: the pixel before a place is found by truncation, which is another one than by rounding down where the place lies before the first
# expect: incorrect
# why: no place of the problem's own draws lies outside the image, and those of scaled ones lie far outside
import torch


class ModelNew(torch.nn.Module):
    def forward(self, images, places):
        height, width = images.shape[2:]
        x, y = (places[..., 0] + 1) * (width - 1) / 2, (places[..., 1] + 1) * (height - 1) / 2
        finite = [place.nan_to_num(-9.0, 1e6, -1e6).clamp(-1e6, 1e6) for place in (x, y)]
        left, top = (place.trunc() for place in finite)
        batch = torch.arange(len(images), device=images.device)[:, None, None]
        total = 0
        for column, across in ((left, 1 - (finite[0] - left)), (left + 1, finite[0] - left)):
            for row, down in ((top, 1 - (finite[1] - top)), (top + 1, finite[1] - top)):
                inside = (column >= 0) & (column < width) & (row >= 0) & (row < height)
                found = images[batch, :, row.clamp(0, height - 1).long(), column.clamp(0, width - 1).long()]
                total = total + torch.where(inside, across * down, 0)[..., None] * torch.where(inside[..., None], found, 0)
        return total.permute(0, 3, 1, 2)
