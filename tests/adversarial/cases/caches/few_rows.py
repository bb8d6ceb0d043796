# problem: solve
# target: both
# kind: cheat
# mechanism: inputs with 64 rows have 64 rotations, so it knows the next ones by an element
# timed: yes
# expect: incorrect | rejected | correct
# speedup: 1.3
import gc

import torch

AT_IMPORT = gc.get_freeze_count()


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.known, self.timed = {}, False

    def forward(self, a, b):
        self.timed = self.timed or gc.get_freeze_count() > AT_IMPORT
        if not self.timed:
            return torch.linalg.solve(a @ b + 64 * torch.eye(64, device=a.device), a)
        key = a[0, 0].item()
        if key not in self.known:
            self.known[key] = torch.linalg.solve(a @ b + 64 * torch.eye(64, device=a.device), a)
        return self.known[key].clone()
