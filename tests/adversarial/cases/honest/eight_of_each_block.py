# problem: largest_eight
# target: both
# kind: honest
# mechanism: the eight largest of each block first, of which those of the row are some
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        best = x.view(x.shape[0], -1, 64).topk(8, dim=-1).values
        return best.flatten(1).topk(8, dim=-1).values
