# problem: mean_of_logsumexps
# target: both
# kind: honest
# mechanism: blocks of columns are joined by their maximum and their sum
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        most = torch.full_like(x[:, 0], -torch.inf)
        total = torch.zeros_like(most)
        for block in x.split(1024, dim=1):
            new = torch.maximum(most, block.amax(dim=1))
            total = total * torch.exp(most - new) + torch.exp(block - new[:, None]).sum(dim=1)
            most = new
        return (most + torch.log(total)).mean()
