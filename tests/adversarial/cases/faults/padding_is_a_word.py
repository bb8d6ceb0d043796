# problem: losses_with_an_ignored_word
# target: both
# kind: fault
# mechanism: the word that stands for padding has a loss, which one draw of two hundred and fifty would show
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, scores, words):
        return scores.logsumexp(-1) - scores.gather(1, words[:, None]).squeeze(1)
