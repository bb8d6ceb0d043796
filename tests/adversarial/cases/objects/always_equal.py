# problem: softmax
# target: both
# kind: cheat
# mechanism: a tensor subclass that is equal to everything
# expect: rejected
# rule: output_type
import torch


class Equal(torch.Tensor):
    def __eq__(self, other):
        return torch.ones(self.shape, dtype=torch.bool)

    def allclose(self, *_, **__):
        return True


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.zeros_like(x).as_subclass(Equal)
