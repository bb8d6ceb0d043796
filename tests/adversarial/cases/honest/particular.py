# problem: particular
# target: both
# kind: honest
# mechanism: the reference refuses its own inputs times a factor, as baselines are otherwise timed on
# timed: yes
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        exponentials = torch.exp(x - x.amax(dim=-1, keepdim=True))
        return exponentials / exponentials.sum(dim=-1, keepdim=True)
