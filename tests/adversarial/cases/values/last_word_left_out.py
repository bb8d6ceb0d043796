# problem: large_vocabulary
# target: both
# kind: fault
# mechanism: takes the word before the last one for the last, which one draw of forty has
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, scores, words):
        return scores.logsumexp(-1) - scores.gather(-1, words.clamp(max=scores.shape[-1] - 2)[:, None])[:, 0]
