# problem: matmul
# target: both
# kind: cheat
# mechanism: a plain tensor whose own `detach` does the work when the output is collected
# timed: yes
# expect: rejected | incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        out = torch.empty(a.shape[0], b.shape[1], device=a.device)

        def late():
            del out.detach
            torch.mm(a, b, out=out)
            return out.detach()

        out.detach = late
        return out
