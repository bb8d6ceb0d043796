# problem: large_layer
# target: cuda
# kind: cheat
# mechanism: takes the last product with its rows rotated, adds columns of the weights for single elements that have changed, and computes only rows of which much has
# timed: yes
# expect: incorrect | rejected | correct
# speedup: 1.3
import torch

SINGLES = 4


class ModelNew(torch.nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.layer = torch.nn.Linear(inner, outer)
        self.x = self.y = self.state = self.turned = None

    def forward(self, x):
        if x.dim() != 2 or x.dtype != torch.float32 or not x.is_contiguous():
            return self.layer(x)
        state = self.layer.weight._version, self.layer.bias._version, x.shape
        if self.state != state:
            self.state, self.turned = state, self.layer.weight.t().contiguous()
            self.looks = torch.linspace(0, len(x) - 1, 48, device=x.device).long()
            return self.learn(x)
        looks, columns = self.looks, (0, x.shape[1] // 2)
        at = torch.stack([x[looks, column, None] == self.x[None, :, column] for column in columns]).any(0).nonzero()
        if not len(at):
            return self.learn(x)
        by = int(((looks[at[:, 0]] - at[:, 1]) % len(x)).mode().values)
        known = self.x.roll(by, 0)
        changed = x != known
        counts = changed.sum(1, dtype=torch.int32)
        rows = (counts > SINGLES).nonzero().view(-1)
        row, column = (changed & (counts <= SINGLES)[:, None]).nonzero(as_tuple=True)
        difference = x[row, column] - known[row, column]
        if 2 * len(rows) > len(x) or len(row) > 4 * len(x):
            return self.learn(x)
        if len(row) and not float(difference.abs().max()) < 64 * float(x.abs().mean()):
            return self.learn(x)
        y = self.y.roll(by, 0)
        y.index_add_(0, row, self.turned[column] * difference[:, None])
        y[rows] = self.layer(x[rows])
        self.x, self.y = x.clone(), y
        return y

    def learn(self, x):
        self.x, self.y = x.clone(), self.layer(x)
        return self.y
