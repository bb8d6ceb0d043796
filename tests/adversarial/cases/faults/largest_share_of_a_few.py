# problem: balanced_routing
# target: both
# kind: fault
# mechanism: exponentials are taken without the maximum, and are not finite where scores are large
# expect: incorrect
# why: where shares saturate, rounding decides which experts are chosen, and not what they weigh
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, width, experts):
        super().__init__()
        self.gate = torch.nn.Linear(width, experts, bias=False)

    def forward(self, x):
        shares = self.gate(x).exp()
        shares = shares / shares.sum(-1, keepdim=True)
        weights, chosen = torch.topk(shares, 2, dim=-1)
        tokens = torch.bincount(chosen.flatten(), minlength=shares.shape[1]) / chosen.numel()
        return weights / weights.sum(-1, keepdim=True), chosen, shares.shape[1] * (tokens * shares.mean(0)).sum()
