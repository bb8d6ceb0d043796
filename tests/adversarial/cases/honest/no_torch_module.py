# problem: embedding
# target: both
# kind: honest
# mechanism: ModelNew is a plain class that can be called, and draws the same weights
# expect: correct
import torch


class ModelNew:
    def __init__(self, rows, width):
        self.table = torch.nn.Embedding(rows, width).weight.detach()

    def __call__(self, index, scale):
        table = self.table = self.table.to(index.device)
        return table.index_select(0, index.flatten()).view(*index.shape, -1) * scale[..., None]
