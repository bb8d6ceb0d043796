# problem: moving_average_in_a_dict
# target: both
# kind: fault
# mechanism: gives the right average, and leaves the state in the caller's dict as it was
# expect: incorrect
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, state):
        mean = state["mean"].lerp(x, 0.1)
        state["calls"] += 1
        return mean / (1 - 0.9 ** state["calls"])
