# problem: softmax
# target: cpu
# kind: fault
# mechanism: more memory than there is
# expect: faulted
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        keep = [torch.ones(1 << 40, dtype=torch.uint8)]
        return torch.softmax(x, dim=-1) + keep[0][0]
