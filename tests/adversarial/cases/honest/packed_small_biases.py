# problem: vision_layers
# target: cpu
# kind: honest
# mechanism: layers whose biases are drawn next to nothing are packed when the module is built
# expect: correct
import torch
import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, d):
        super().__init__()
        fc1 = nn.Linear(d, 4 * d)
        fc2 = nn.Linear(4 * d, d)
        for layer in (fc1, fc2):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.normal_(layer.bias, std=1e-6)
        self.w1 = fc1.weight.detach().t().contiguous()
        self.w2 = fc2.weight.detach().t().contiguous()
        self.b1 = fc1.bias.detach().clone()
        self.b2 = fc2.bias.detach().clone()

    def forward(self, x):
        y = x.view(-1, x.shape[-1])
        h = F.gelu(torch.addmm(self.b1, y, self.w1))
        return x + torch.addmm(self.b2, h, self.w2).view(x.shape)
