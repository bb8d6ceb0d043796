# problem: softmax
# target: both
# kind: fault
# mechanism: nothing is returned
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        torch.softmax(x, dim=-1)
