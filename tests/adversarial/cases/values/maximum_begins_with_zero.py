# problem: logsumexp_of_rows
# target: both
# kind: fault
# mechanism: the maximum that is taken off begins with zero, so that nothing is left of rows far below it
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        most = x.amax(-1, keepdim=True).clamp(min=0)
        return (x - most).exp().sum(-1).log() + most.squeeze(-1)
