# problem: masked_softmax
# target: both
# kind: fault
# mechanism: a softmax block by block, in which the largest score so far is taken from itself while nothing was let in
# expect: incorrect
# why: by chance no row begins with a whole block that is masked, as padding in front is; of a row without anything the reference has no number either
import torch


class ModelNew(torch.nn.Module):
    def forward(self, scores, mask):
        scores = scores.masked_fill(~mask, float("-inf"))
        largest = torch.full_like(scores[:, :1], float("-inf"))
        total = torch.zeros_like(largest)
        for block in scores.split(64, dim=1):
            now = torch.maximum(largest, block.amax(1, keepdim=True))
            total = total * torch.exp(largest - now) + torch.exp(block - now).sum(1, keepdim=True)
            largest = now
        return torch.exp(scores - largest) / total
