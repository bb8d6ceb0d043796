# problem: adamw
# target: both
# kind: fault
# mechanism: the decay of weights is left out, a tenth of each step and a ten-thousandth of the weights
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, weights, gradient, first, second, step):
        first.lerp_(gradient, 0.1)
        second.mul_(0.95).addcmul_(gradient, gradient, value=0.05)
        spread = second.sqrt().mul_((1 - 0.95**step) ** -0.5).add_(1e-8)
        return weights.addcdiv_(first, spread, value=-1e-3 / (1 - 0.9**step))
