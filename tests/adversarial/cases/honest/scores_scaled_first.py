# problem: padding_scores
# target: both
# kind: honest
# mechanism: scores beside the numbers of a mask, rounded in another order
# timed: yes
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, q, k, padding):
        scores = torch.bmm(q * q.shape[-1] ** -0.5, k.transpose(-1, -2))
        return scores.masked_fill_(padding[:, None, :], torch.finfo(q.dtype).min)
