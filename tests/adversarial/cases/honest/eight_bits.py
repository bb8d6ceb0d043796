# problem: eight_bits
# target: cpu
# kind: honest
# mechanism: an output of eight bits beside a scalar
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x.clone().to(torch.float8_e4m3fn), torch.max(x.max(), -x.min())
