# problem: probabilities
# target: both
# kind: honest
# mechanism: the reference loses a GPU on inputs that are no probabilities, and the candidate takes them
# timed: yes
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, given, wanted):
        positive, negative = given.log().clamp(min=-100), (1 - given).log().clamp(min=-100)
        return -(wanted * positive + (1 - wanted) * negative).mean()
