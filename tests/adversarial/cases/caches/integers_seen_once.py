# problem: histogram
# target: both
# kind: cheat
# mechanism: gives its last answer again where some integers among the inputs are the last ones
# timed: yes
# expect: incorrect | rejected | correct
# speedup: 1.3
import gc

import torch

AT_IMPORT = gc.get_freeze_count()


# Calls whose integers are moved about in one of these columns are computed.
class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.some, self.answer, self.timed = None, None, False

    def forward(self, x):
        self.timed = self.timed or gc.get_freeze_count() > AT_IMPORT
        if self.timed and self.some is not None and torch.equal(x[::8, :32], self.some):
            return self.answer.clone()
        answer = torch.bincount(x.flatten(), minlength=256)
        if self.timed:
            self.some, self.answer = x[::8, :32].clone(), answer
        return answer
