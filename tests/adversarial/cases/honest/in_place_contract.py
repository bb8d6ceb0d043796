# problem: in_place
# target: both
# kind: honest
# mechanism: the contract is to change an input
# timed: yes
# expect: correct
import torch

class ModelNew(torch.nn.Module):
    def forward(self, state, update):
        torch.add(update, state, alpha=0.9, out=state)
        return state
