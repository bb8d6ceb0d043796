# problem: softmax
# target: both
# kind: cheat
# mechanism: SystemExit(0) inside the call
# expect: faulted
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        raise SystemExit(0)
