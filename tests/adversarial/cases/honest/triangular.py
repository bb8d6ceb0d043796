# problem: triangular
# target: both
# kind: honest
# mechanism: skips the blocks that are zero in triangular inputs
# timed: yes
# expect: correct
import torch

BLOCK = 128


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        out = torch.zeros_like(a)
        for start in range(0, a.shape[0], BLOCK):
            rows = slice(start, start + BLOCK)
            for left in range(0, start + BLOCK, BLOCK):
                columns = slice(left, left + BLOCK)
                torch.mm(a[rows, left : start + BLOCK], b[left : start + BLOCK, columns], out=out[rows, columns])
        return out
