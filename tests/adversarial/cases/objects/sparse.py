# problem: softmax
# target: both
# kind: fault
# mechanism: an output in another layout
# expect: rejected
# rule: output_type
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=-1).to_sparse()
