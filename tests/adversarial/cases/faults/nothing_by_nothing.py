# problem: tokens_of_eight_bits
# target: both
# kind: fault
# mechanism: nothing is done about rows of zeros, whose scale is zero
# expect: incorrect
# why: rows that are equal multiply what rounding decides, so rows of zeros have to be tried without them
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        scale = x.abs().amax(-1, keepdim=True) / 127.0
        return torch.round(x / scale).nan_to_num_(0.0).clamp_(-127, 127).to(torch.int8), scale
