# problem: byte_product
# target: both
# kind: fault
# mechanism: the product in float32, exact below 2^24, which the largest sums exceed
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, w):
        return (x.float() @ w.float()).to(torch.int32)
