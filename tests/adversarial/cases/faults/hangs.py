# problem: softmax
# target: both
# kind: fault
# mechanism: a loop without end
# limit: 2
# expect: timed_out
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        while True:
            pass
