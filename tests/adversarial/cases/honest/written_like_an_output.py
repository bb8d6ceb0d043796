# problem: attention_into
# target: both
# kind: honest
# mechanism: what is written into inputs is rounded in another order: large scores nearly tie, and some lie at the border
# timed: yes
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, q, k, v, out, marks):
        scores = ((q * 0.25).unsqueeze(2) * k.unsqueeze(1)).sum(-1)
        marks.copy_(scores > 0.01)
        weights = torch.exp(scores - scores.amax(-1, keepdim=True))
        out.copy_((weights @ v) / weights.sum(-1, keepdim=True))
