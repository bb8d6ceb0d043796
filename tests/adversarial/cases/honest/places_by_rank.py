# problem: rows_in_order
# target: both
# kind: honest
# mechanism: a number's place is how many are smaller, or equal and before it
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        number = torch.arange(x.shape[1], device=x.device)
        is_before = (x[:, None] < x[:, :, None]) | (x[:, None] == x[:, :, None]) & (number < number[:, None])
        # What compares with nothing comes last, as torch has it.
        is_before |= x[:, :, None].isnan() & (~x[:, None].isnan() | (number < number[:, None]))
        is_before &= ~(x[:, None].isnan() & ~x[:, :, None].isnan())
        return torch.zeros_like(x).scatter_(1, is_before.sum(-1), x)
