# problem: relu_of_a_product
# target: both
# kind: fault
# mechanism: what is below zero is cut off by a comparison that a NaN fails, as fmaxf and tl.maximum do
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, y):
        product = x @ y
        product = torch.where(product > 0, product, 0.0)
        return product, product.amax(-1)
