# problem: balanced_routing
# target: both
# kind: honest
# mechanism: of experts with equal shares it takes the last, so that a few tokens go elsewhere and the spread is another
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, width, experts):
        super().__init__()
        self.gate = torch.nn.Linear(width, experts, bias=False)

    def forward(self, x):
        shares = torch.softmax(self.gate(x), -1)
        weights, places = shares.flip(-1).sort(dim=-1, descending=True, stable=True)
        weights, chosen = weights[:, :2], shares.shape[1] - 1 - places[:, :2]
        tokens = torch.zeros(shares.shape[1], device=x.device).index_add_(0, chosen.flatten(), torch.ones(chosen.numel(), device=x.device))
        return weights / weights.sum(-1, keepdim=True), chosen, shares.shape[1] * (tokens / chosen.numel() * shares.mean(0)).sum()
