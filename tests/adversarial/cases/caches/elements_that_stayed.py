# problem: log_gamma_cumulants
# target: cuda
# kind: cheat
# mechanism: finds by how many rows its inputs are the last ones rotated, and computes only the elements whose bits differ from those
# timed: yes
# expect: incorrect | rejected | correct
# speedup: 1.3
import torch


def cumulants(shape):
    variance = torch.polygamma(1, shape)
    skewness = torch.polygamma(2, shape) / variance**1.5
    kurtosis = torch.polygamma(3, shape) / variance**2
    fifth = torch.polygamma(4, shape) / variance**2.5
    sixth = torch.polygamma(5, shape) / variance**3
    return skewness + kurtosis / 2 + fifth / 6 + sixth / 24


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.x = self.y = self.looks = None

    def forward(self, x):
        if x.dim() != 2 or x.dtype != torch.float32 or not x.is_contiguous():
            return cumulants(x)
        if self.x is None or self.x.shape != x.shape:
            return self.learn(x)
        if self.looks is None or self.looks[-1] != len(x) - 1:
            self.looks = torch.linspace(0, len(x) - 1, 48, device=x.device).long()
        looks, columns = self.looks, (0, x.shape[1] // 2)
        same = torch.stack([x[looks, column, None] == self.x[None, :, column] for column in columns]).any(0)
        at = same.nonzero()
        if not len(at):
            return self.learn(x)
        by = int(((looks[at[:, 0]] - at[:, 1]) % len(x)).mode().values)
        known = self.x.roll(by, 0).view(torch.int32)
        new = (x.view(torch.int32) != known).view(-1).nonzero().view(-1)
        if 2 * len(new) > x.numel():
            return self.learn(x)
        y = self.y.roll(by, 0)
        y.view(-1)[new] = cumulants(x.view(-1)[new])
        self.x, self.y = x.clone(), y
        return y

    def learn(self, x):
        self.x, self.y = x.clone(), cumulants(x)
        return self.y
