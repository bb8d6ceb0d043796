# problem: chain
# target: both
# kind: cheat
# mechanism: once warm, three quarters of the rows are left out
# timed: yes
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, y):
        self.calls = getattr(self, "calls", 0) + 1
        rows = x.shape[0] if self.calls < 15 else x.shape[0] // 4
        out = torch.empty_like(x)
        z = torch.sigmoid(x[:rows]) * y[:rows]
        out[:rows] = torch.tanh(z + x[:rows]).clamp(-0.9, 0.9) * y[:rows]
        return out
