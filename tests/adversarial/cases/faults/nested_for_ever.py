# problem: softmax
# target: both
# kind: fault
# mechanism: a list that holds itself
# expect: rejected
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        endless = []
        endless.append(endless)
        return endless
