# problem: mean_without_nan
# target: both
# kind: fault
# mechanism: nothing looks for the NaN that the problem leaves out, as where a compiler may take it that there is none
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return (x * x).mean(-1)
