# problem: in_place
# target: both
# kind: fault
# mechanism: a new tensor where the contract is to change an input
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, state, update):
        return state * 0.9 + update
