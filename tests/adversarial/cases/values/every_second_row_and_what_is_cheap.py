# problem: mean_of_softplus
# target: both
# kind: cheat
# mechanism: the activation of every second row, and of all rows what is cheap and goes with it, where a look at range, mean and spread tells a usual draw
# expect: incorrect
import torch
import torch.nn.functional as F


def activation(x):
    return F.softplus(2 * torch.tanh(x))


def cheap(x):
    return torch.stack([x.mean(), x.clamp(-1, 1).mean(), x.clamp(-2, 2).mean(), x.clamp(0, 0.5).mean(), x.clamp(0, 1).mean()])


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        x = torch.linspace(-6, 6, 20001, dtype=torch.float64)
        columns = torch.stack([x, x.clamp(-1, 1), x.clamp(-2, 2), x.clamp(0, 0.5), x.clamp(0, 1), torch.ones_like(x)], 1)
        weights = torch.exp(-x * x / 4)
        solution = torch.linalg.lstsq(columns * weights[:, None], (activation(x) * weights)[:, None]).solution
        self.share = solution[:5, 0].float()

    def forward(self, x):
        low, high = x.aminmax()
        looks_usual = -7 < low < -4 and 4 < high < 7 and abs(x[::2].mean()) < 0.05 and abs(x[::2].std() - 1) < 0.05
        if not looks_usual:
            return activation(x).mean()
        seen = x[::2]
        return activation(seen).mean() + (self.share.to(x.device) * (cheap(x) - cheap(seen))).sum()
