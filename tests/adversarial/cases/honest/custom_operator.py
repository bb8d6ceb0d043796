# problem: chain
# target: both
# kind: honest
# mechanism: an operator of its own in torch's registry, an autograd function and hooks
# timed: yes
# expect: correct
import torch


@torch.library.custom_op("adversarial_suite::gate", mutates_args=())
def gate(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return y / (1 + torch.exp(-x))


class Bounded(torch.autograd.Function):
    @staticmethod
    def forward(context, z):
        return torch.tanh(z).clamp(-0.9, 0.9)


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_forward_hook(lambda module, inputs, output: output * 1.0)

    def forward(self, x, y):
        return Bounded.apply(gate(x, y) + x) * y
