# problem: masked
# target: both
# kind: honest
# mechanism: NaN and inf as the reference defines them
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, mask):
        z = torch.where(mask, float("-inf"), x)
        e = torch.exp(z - z.amax(dim=-1, keepdim=True))
        return e / e.sum(dim=-1, keepdim=True), torch.log2(x) * 0.6931471805599453
