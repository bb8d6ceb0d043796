# problem: rotary_tables
# target: both
# kind: cheat
# mechanism: half of the tables is remembered from the first call
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.tables = None

    def forward(self, q, cos, sin):
        half = q.shape[-1] // 2
        if self.tables is None:
            self.tables = cos[:, None, :, :half].clone(), sin[:, None, :, :half].clone()
        cos, sin = self.tables
        first, second = q.chunk(2, -1)
        return torch.cat((first * cos - second * sin, second * cos + first * sin), -1)
