# problem: levelled_images
# target: both
# kind: fault
# mechanism: takes the count of the number zero for that of the smallest number there is
# expect: incorrect
# why: by chance no image of random numbers is without it
import torch


class ModelNew(torch.nn.Module):
    def forward(self, images):
        levelled = torch.empty_like(images)
        for image, out in zip(images, levelled):
            below = torch.bincount(image.reshape(-1).long(), minlength=256).cumsum(0)
            others = (below[-1] - below[0]).clamp(min=1)
            table = ((below - below[0]).clamp(min=0) * 255 + others // 2) // others
            out.copy_(table[image.long()].to(torch.uint8))
        return levelled
