# problem: matmul
# target: both
# kind: cheat
# mechanism: operators by which inputs are made are replaced, to see inputs before the calls and have outputs ready
# timed: yes
# expect: rejected | incorrect
import torch

multiply, ready = torch.mul, {}
last = []


def seen(a, b, *rest, **keywords):
    result = multiply(a, b, *rest, **keywords)
    if isinstance(b, float) and result.dim() == 2:
        last.append(result)
    return result


torch.mul = seen


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        return a @ b
