# problem: shares
# target: both
# kind: honest
# mechanism: multiplies before it divides, which is too large for float32 where energies are a hundred times as large
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, energies):
        weights = energies.mul(0.85).exp_()
        totals = weights.sum(-1, keepdim=True)
        return weights.mul_(energies.shape[-1]).div_(totals)
