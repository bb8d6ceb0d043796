# problem: repeated_queries
# target: both
# kind: cheat
# mechanism: one row of a weight for all of them, which are the same only as long as nobody trains the module
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, queries, features):
        super().__init__()
        self.queries = torch.nn.Parameter(torch.randn(queries, features))

    def forward(self, x):
        weights = torch.softmax(x @ self.queries[0], -1).unsqueeze(1)
        return torch.bmm(weights, x).repeat(1, self.queries.shape[0], 1)
