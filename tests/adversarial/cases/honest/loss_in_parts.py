# problem: mean_of_squares
# target: both
# kind: honest
# mechanism: a loss is summed up in parts, in another order than torch's
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, predicted, wanted):
        parts = (predicted - wanted).square_().view(64, -1).sum(dim=1)
        return parts.sum() / predicted.numel()
