# problem: chain
# target: cpu
# kind: fault
# mechanism: an exception after some calls
# timed: yes
# expect: faulted
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, y):
        self.calls = getattr(self, "calls", 0) + 1
        if self.calls > 30:
            raise RuntimeError("worn out")
        z = torch.sigmoid(x) * y
        return torch.tanh(z + x).clamp(-0.9, 0.9) * y
