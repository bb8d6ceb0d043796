# problem: softmax
# target: both
# kind: fault
# mechanism: folders nested so deep that whoever removes them by calling itself for each runs out of descriptors or stack
# expect: correct
import os

import torch

here = os.getcwd()
for _ in range(1_500):
    os.mkdir("d")
    os.chdir("d")
os.chdir(here)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=-1)
