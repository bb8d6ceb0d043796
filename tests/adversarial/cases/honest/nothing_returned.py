# problem: fills
# target: cpu
# kind: honest
# mechanism: writes into its input and returns nothing, as the problem does
# timed: yes
# expect: correct
# absent: degenerate_problem
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, out):
        torch.clamp_min(x, 0, out=out).mul_(2)
