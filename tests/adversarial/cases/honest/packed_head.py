# problem: scalar_head
# target: cpu
# kind: honest
# mechanism: layers are packed when the module is built, one of them into a single bias that was drawn at random
# expect: correct
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, d):
        super().__init__()
        fc1 = nn.Linear(d, d)
        fc2 = nn.Linear(d, 1)
        self.w1t = fc1.weight.detach().t().contiguous()
        self.b1 = fc1.bias.detach().clone()
        self.w2 = fc2.weight.detach().view(-1).clone()
        self.b2 = fc2.bias.detach().clone()

    def forward(self, x):
        return torch.sigmoid(torch.addmm(self.b1, x, self.w1t).relu_() @ self.w2 + self.b2)[:, None]
