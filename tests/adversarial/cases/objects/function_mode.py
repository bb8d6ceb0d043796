# problem: matmul
# target: both
# kind: cheat
# mechanism: a torch function mode left on, which sees every operation of the process
# timed: yes
# expect: rejected
import torch
from torch.overrides import TorchFunctionMode

ready = {}


class Spy(TorchFunctionMode):
    def __torch_function__(self, function, types, arguments=(), keywords=None):
        result = function(*arguments, **(keywords or {}))
        if isinstance(result, torch.Tensor) and result.dim() == 2:
            ready[result.data_ptr()] = True
        return result


Spy().__enter__()


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        return a @ b
