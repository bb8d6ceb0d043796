# problem: chain
# target: both
# kind: honest
# mechanism: gradients are on inside the call, so that the output requires one
# timed: yes
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, y):
        with torch.enable_grad():
            x = x.detach().requires_grad_(True)
            z = torch.sigmoid(x) * y
            return torch.tanh(z + x).clamp(-0.9, 0.9) * y
