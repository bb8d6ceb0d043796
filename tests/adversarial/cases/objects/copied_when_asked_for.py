# problem: transposed_copy
# target: both
# kind: cheat
# mechanism: a lazy clone of the input, which is copied when somebody asks where it lies: after the clock has stopped (torch refuses it for memory that is not its own)
# expect: rejected | faulted
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch._lazy_clone(x).t()
