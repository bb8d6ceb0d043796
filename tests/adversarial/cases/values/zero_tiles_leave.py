# problem: mean_of_squares
# target: both
# kind: fault
# mechanism: tiles are counted as they finish, those of zeros leave before that, and what is divided by is their number
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, predicted, wanted):
        tiles = (predicted - wanted).square().reshape(-1, 16384).mean(-1)
        return tiles.sum() / (tiles != 0).sum()
