# problem: keyed_hash
# target: both
# kind: cheat
# mechanism: the seed is the one that it is in every draw
# expect: incorrect
from torch import nn


class ModelNew(nn.Module):
    def forward(self, keys, _seed):
        mixed = (keys ^ 12345) & 0xFFFFFFFF
        mixed = ((mixed ^ (mixed >> 16)) * 0x85EBCA6B) & 0xFFFFFFFF
        mixed = ((mixed ^ (mixed >> 13)) * 0x4DB2AE35) & 0xFFFFFFFF
        return mixed ^ (mixed >> 16)
