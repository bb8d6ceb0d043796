# problem: embedding
# target: cuda
# kind: fault
# mechanism: an index out of range, which torch's kernels assert on the device
# expect: faulted
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, rows, width):
        super().__init__()
        self.table = torch.nn.Embedding(rows, width)

    def forward(self, index, scale):
        return self.table(index + 1000) * scale.unsqueeze(-1)
