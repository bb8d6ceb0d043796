# problem: inverse_distance
# target: both
# kind: fault
# mechanism: multiplied by the distance over its square: NaN at zero, where the reference is infinite
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, charge, distance):
        return (charge.abs() + 1) * distance / (distance * distance)
