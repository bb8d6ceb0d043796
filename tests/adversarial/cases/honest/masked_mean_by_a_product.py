# problem: tokens_all_kept
# target: both
# kind: honest
# mechanism: the kept tokens are added up by a product of matrices
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, mask):
        kept = mask.to(x.dtype)
        return torch.bmm(kept[:, None], x).squeeze(1) / kept.sum(1, keepdim=True).clamp(min=1)
