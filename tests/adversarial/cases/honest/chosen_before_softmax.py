# problem: gate
# target: both
# kind: honest
# mechanism: the largest are chosen before what keeps their order is computed, which saturates, or is NaN beside an infinity
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        values, chosen = torch.topk(x, 2, dim=-1)
        return torch.softmax(values, dim=-1), chosen, x.argmax(dim=-1)
