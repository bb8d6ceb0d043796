# problem: moving_average_in_place
# target: both
# kind: honest
# mechanism: an interpolation, which is NaN beside an infinity where the sum is infinite
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, average, gradient):
        average.lerp_(gradient, 0.1)
