# problem: largest_eight
# target: both
# kind: fault
# mechanism: four values of each block of 64 stand for all of it, which is nearly always enough for random rows
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        best = x.view(x.shape[0], -1, 64).topk(4, dim=-1).values
        return best.flatten(1).topk(8, dim=-1).values
