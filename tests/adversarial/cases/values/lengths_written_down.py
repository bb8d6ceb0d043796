# problem: few_lengths
# target: both
# kind: cheat
# mechanism: the lengths that there are in every draw are written down
# expect: incorrect
import torch

LENGTHS = (37, 128, 64, 9, 90)


class ModelNew(torch.nn.Module):
    def forward(self, x, _lengths):
        return torch.stack([sequence[:length].amax(0) for sequence, length in zip(x, LENGTHS)])
