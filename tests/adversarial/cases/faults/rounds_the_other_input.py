# problem: moving_average_in_place
# target: both
# kind: fault
# mechanism: writes into the input that it should write into, and leaves the other one a last digit off
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, average, gradient):
        average.mul_(0.9).add_(gradient.mul_(0.1))
        gradient.mul_(10.0)
