# problem: shares
# target: both
# kind: fault
# mechanism: exponents above sixty count as sixty
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, energies):
        weights = energies.mul(0.85).clamp_(max=60.0).exp_()
        return weights / weights.mean(-1, keepdim=True)
