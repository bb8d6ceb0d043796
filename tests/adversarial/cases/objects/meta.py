# problem: softmax
# target: both
# kind: cheat
# mechanism: a tensor without data
# expect: rejected
# rule: output_type
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(x.to("meta"), dim=-1)
