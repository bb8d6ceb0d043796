# problem: matmul
# target: both
# kind: cheat
# mechanism: a tensor subclass that computes when somebody looks
# expect: rejected
# rule: output_type
import torch


class Lazy(torch.Tensor):
    @staticmethod
    def make(work, like):
        lazy = torch.empty_like(like).as_subclass(Lazy)
        lazy.work = work
        return lazy

    @classmethod
    def __torch_function__(cls, function, types, arguments=(), keywords=None):
        plain = [a.work() if isinstance(a, Lazy) and hasattr(a, "work") else a for a in arguments]
        return function(*plain, **(keywords or {}))


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        like = torch.empty(a.shape[0], b.shape[1], device=a.device)
        return Lazy.make(lambda: a @ b, like)
