# problem: chain
# target: both
# kind: honest
# mechanism: one output buffer for every call, as CUDA graphs leave it
# timed: yes
# expect: correct
# why: each result is right when it is returned; a caller that keeps it has to copy it, which is said
# finding: reused_output
import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.out = None

    def forward(self, x, y):
        if self.out is None or self.out.shape != x.shape:
            self.out = torch.empty_like(x)
        z = torch.sigmoid(x) * y
        return torch.mul(torch.tanh(z + x).clamp_(-0.9, 0.9), y, out=self.out)
