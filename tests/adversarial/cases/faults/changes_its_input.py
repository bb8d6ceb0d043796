# problem: softmax
# target: both
# kind: fault
# mechanism: the input is used as scratch memory
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        x.sub_(x.amax(dim=-1, keepdim=True)).exp_()
        return x / x.sum(dim=-1, keepdim=True)
