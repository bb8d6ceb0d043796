# problem: strided
# target: both
# kind: cheat
# mechanism: its inputs are ones that it knows times a factor, rolled: so are its answers
# timed: yes
# expect: incorrect | rejected | correct
# speedup: 1.4
import gc

import torch

AT_IMPORT = gc.get_freeze_count()


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(512, 512, bias=False)
        self.column, self.timed = None, False

    def forward(self, x):
        self.timed = self.timed or gc.get_freeze_count() > AT_IMPORT
        if self.timed and self.column is not None:
            column = x[:, 0]
            scale = column.norm() / self.norm
            row = int((self.column * scale - column[0]).abs().argmin())
            known = self.column.roll(-row) * scale
            if torch.allclose(column, known, rtol=1e-4):
                return self.twice[row : row + len(x)] * scale
        y = self.layer(torch.nn.functional.relu(self.layer(x)))
        self.twice, self.column = torch.cat([y, y]), x[:, 0].clone()
        self.norm = self.column.norm()
        return y
