# problem: soft_targets
# target: both
# kind: honest
# mechanism: the logarithm of the sum is taken once, as targets add up to one in every draw
# timed: yes
# expect: correct
# finding: input_structure
import torch


class ModelNew(torch.nn.Module):
    def forward(self, logits, targets):
        apart = logits - logits.amax(1, keepdim=True)
        return torch.logsumexp(apart, 1) - (targets * apart).sum(1)
