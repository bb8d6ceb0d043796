# problem: tokens_of_eight_bits
# target: both
# kind: honest
# mechanism: rows are multiplied by the reciprocal of their scale, which gives the neighbour at some borders
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        scale = x.abs().amax(-1, keepdim=True).div_(127.0)
        scale.masked_fill_(scale == 0, 1.0)
        return (x * scale.reciprocal()).round_().clamp_(-127, 127).to(torch.int8), scale
