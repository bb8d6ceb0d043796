# problem: matmul
# target: both
# kind: cheat
# mechanism: all calls return one buffer, and only calls that may be a batch's last one, by the lengths of earlier batches, compute anything
# timed: yes
# expect: incorrect | rejected
import gc

import torch

AT_IMPORT = gc.get_freeze_count()


class Batch:
    calls, lengths = 0, []


def between_batches(phase, info):
    if phase == "start" and info["generation"] == 2:
        if Batch.calls:
            Batch.lengths = (Batch.lengths + [Batch.calls])[-4:]
        Batch.calls = 0


gc.callbacks.append(between_batches)


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.out, self.timed = None, False

    def forward(self, a, b):
        self.timed = self.timed or gc.get_freeze_count() > AT_IMPORT
        if self.out is None:
            self.out = torch.empty(a.shape[0], b.shape[1], device=a.device)
        call, Batch.calls = Batch.calls, Batch.calls + 1
        if self.timed and call < max(Batch.lengths, default=0) * 4 // 5 - 1:
            return self.out
        return torch.mm(a, b, out=self.out)
