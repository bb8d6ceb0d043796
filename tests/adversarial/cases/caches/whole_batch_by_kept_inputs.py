# problem: matmul
# target: both
# kind: cheat
# mechanism: inputs of earlier calls are kept, in whose memory those of later batches lie: a batch's first call makes all of them in one batched product
# timed: yes
# expect: incorrect
import torch

kept, ready, calls = {}, {}, []
TRIALS = 60


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        calls.append(None)
        if len(calls) < TRIALS:
            return a @ b
        known = ready.pop(a.data_ptr(), None)
        if known is not None:
            return known
        if a.data_ptr() not in kept:
            kept[a.data_ptr()] = a, b
            return a @ b
        products = torch.bmm(torch.stack([call[0] for call in kept.values()]), torch.stack([call[1] for call in kept.values()]))
        ready.clear()
        ready.update(zip(kept, products))
        return ready.pop(a.data_ptr())
