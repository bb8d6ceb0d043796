# problem: routing
# target: both
# kind: honest
# mechanism: the best two by taking the maximum twice, which puts experts with equal scores in another order than topk, also where a draw has two zeros alone
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, logits):
        best, first = logits.max(-1)
        next_best, second = logits.scatter(1, first[:, None], float("-inf")).max(-1)
        weight = torch.sigmoid(best - next_best)
        return torch.stack([weight, 1 - weight], -1), torch.stack([first, second], -1)
