# problem: tokens_all_kept
# target: both
# kind: cheat
# mechanism: a mask of integers that keeps everything in every draw is not read
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, mask):
        return x.mean(1)
