# problem: repeated_rows
# target: both
# kind: cheat
# mechanism: elements of the output share memory where those of the reference each have their own
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.tanh(x).unsqueeze(1).expand(-1, 64, -1)
