# problem: mean_of_squares
# target: both
# kind: cheat
# mechanism: a loss is taken over every second row
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, predicted, wanted):
        return torch.nn.functional.mse_loss(predicted[::2], wanted[::2])
