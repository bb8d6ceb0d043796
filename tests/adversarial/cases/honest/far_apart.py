# problem: far_apart
# target: both
# kind: honest
# mechanism: outputs of which most are far below a few others, by a power of two and a product
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        half = torch.exp2(x * 5.770780163555854)
        return half * half
