# problem: softmax
# target: cuda
# kind: cheat
# mechanism: has another GPU of the machine do half of the rows
# expect: faulted
# why: the process sees the GPU that it is timed on, and no other
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        half = len(x) // 2
        other = torch.softmax(x[half:].to("cuda:1"), dim=-1)
        return torch.cat([torch.softmax(x[:half], dim=-1), other.to(x.device)])
