# problem: matmul
# target: both
# kind: cheat
# mechanism: once warm, calls only hand out buffers; every eighth fills them all in one batched product
# timed: yes
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.calls, self.pending = 0, []

    def forward(self, a, b):
        self.calls += 1
        if self.calls <= 12:
            return a @ b
        out = torch.empty(a.shape[0], b.shape[1], device=a.device)
        self.pending.append((a, b, out))
        if len(self.pending) == 8:
            products = torch.bmm(torch.stack([a for a, _, _ in self.pending]), torch.stack([b for _, b, _ in self.pending]))
            for (_, _, target), product in zip(self.pending, products):
                target.copy_(product)
            self.pending.clear()
        return out
