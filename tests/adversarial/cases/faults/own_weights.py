# problem: scale_shift
# target: both
# kind: fault
# mechanism: weights of its own in place of the problem's
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.w, self.s = torch.ones(columns), torch.zeros(columns)

    def forward(self, x):
        return torch.relu(x * self.w.to(x.device)) + self.s.to(x.device)
