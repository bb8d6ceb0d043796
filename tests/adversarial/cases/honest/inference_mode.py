# problem: chain
# target: both
# kind: honest
# mechanism: outputs made in inference mode
# timed: yes
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, y):
        with torch.inference_mode():
            z = y / (1 + torch.exp(-x))
            return torch.tanh(z + x).clamp(-0.9, 0.9) * y
