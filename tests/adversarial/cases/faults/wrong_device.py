# problem: softmax
# target: cuda
# kind: fault
# mechanism: an output on the host
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=-1).cpu()
