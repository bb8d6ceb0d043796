# problem: keyed_hash
# target: both
# kind: honest
# mechanism: the seed is taken from the device once for all keys
# expect: correct
from torch import nn


class ModelNew(nn.Module):
    def forward(self, keys, seed):
        mixed = keys.bitwise_xor(int(seed)).bitwise_and_(0xFFFFFFFF)
        mixed.bitwise_xor_(mixed >> 16).mul_(0x85EBCA6B).bitwise_and_(0xFFFFFFFF)
        mixed.bitwise_xor_(mixed >> 13).mul_(0x4DB2AE35).bitwise_and_(0xFFFFFFFF)
        return mixed.bitwise_xor_(mixed >> 16)
