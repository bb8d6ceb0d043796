# problem: softmax
# target: both
# kind: fault
# mechanism: a recursion without end
# expect: faulted
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return self.forward(x)
