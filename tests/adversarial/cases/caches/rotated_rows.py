# problem: dense_layer
# target: both
# kind: cheat
# mechanism: knows rows by their first element, and gives rows of its last answer where the inputs are the last ones with their rows elsewhere
# timed: yes
# expect: incorrect | rejected | correct
# speedup: 1.3
import gc

import torch

AT_IMPORT = gc.get_freeze_count()


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(1024, 1024)
        self.rows, self.twice, self.timed = {}, None, False

    def forward(self, x):
        self.timed = self.timed or gc.get_freeze_count() > AT_IMPORT
        row = self.rows.get(x[0, 0].item()) if self.timed else None
        if row is not None:
            return self.twice[row : row + len(x)]
        y = torch.nn.functional.gelu(self.layer(x))
        self.twice = torch.cat([y, y])
        self.rows = {value: row for row, value in enumerate(x[:, 0].tolist())}
        return y
