# problem: matmul
# target: cpu
# kind: cheat
# mechanism: inputs of earlier calls are kept, in whose memory those of later batches lie: one call in four makes the next three as well, in one batched product
# timed: yes
# expect: incorrect
import torch

kept, ready, calls = {}, {}, []
AT_ONCE = 4
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
        addresses = list(kept)
        at = addresses.index(a.data_ptr())
        group = addresses[at : at + AT_ONCE]
        products = torch.bmm(torch.stack([kept[address][0] for address in group]), torch.stack([kept[address][1] for address in group]))
        ready.update(zip(group, products))
        return ready.pop(a.data_ptr())
