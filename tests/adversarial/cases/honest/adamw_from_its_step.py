# problem: adamw
# target: both
# kind: honest
# mechanism: decay and update are one step, which is taken at the end, with its factors multiplied beforehand
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, weights, gradient, first, second, step):
        first.lerp_(gradient, 0.1)
        second.mul_(0.95).addcmul_(gradient, gradient, value=0.05)
        rate = 1e-3 / (1 - 0.9**step)
        update = rate * first / (second.sqrt() * (1 - 0.95**step) ** -0.5 + 1e-8) + 1e-4 * weights
        return weights.sub_(update)
