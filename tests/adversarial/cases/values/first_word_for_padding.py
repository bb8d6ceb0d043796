# problem: large_vocabulary
# target: both
# kind: fault
# mechanism: takes the first word for padding, which one draw of forty has
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, scores, words):
        losses = scores.logsumexp(-1) - scores.gather(-1, words[:, None])[:, 0]
        return losses.masked_fill(words == 0, 0.0)
