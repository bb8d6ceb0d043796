# problem: numbers
# target: both
# kind: cheat
# mechanism: an object that claims to equal any number
# expect: rejected
# rule: output_type
import torch


class Any:
    def __eq__(self, other):
        return True

    def __float__(self):
        return 0.0

    def __hash__(self):
        return 0


class ModelNew(torch.nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def forward(self, x, power):
        return x * self.scale**power, Any(), Any()
