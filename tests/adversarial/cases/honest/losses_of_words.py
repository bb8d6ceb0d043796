# problem: large_vocabulary
# target: both
# kind: honest
# mechanism: the loss of each word from the largest score and the sum of exponentials
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, scores, words):
        shifted = scores - scores.amax(-1, keepdim=True)
        return shifted.exp().sum(-1).log() - shifted.gather(-1, words[:, None])[:, 0]
