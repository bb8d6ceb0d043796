# problem: rotary_tables
# target: both
# kind: honest
# mechanism: the first half of each row of the tables is read, which is its second half as well in every draw
# expect: correct
# finding: input_structure
import torch


class ModelNew(torch.nn.Module):
    def forward(self, q, cos, sin):
        half = q.shape[-1] // 2
        cos, sin = cos[:, None, :, :half], sin[:, None, :, :half]
        first, second = q.chunk(2, -1)
        return torch.cat((first * cos - second * sin, second * cos + first * sin), -1)
