# problem: diagonal
# target: both
# kind: cheat
# mechanism: the constructor draws what it takes for the inputs and keeps the product
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.answer = torch.diag(torch.randn(256)) @ torch.randn(256, 256)

    def forward(self, a, b):
        return self.answer.to(b.device)
