# problem: running_count
# target: both
# kind: honest
# mechanism: running sums of blocks, with those of all blocks before added
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        blocks = x.view(x.shape[0], -1, 100).long()
        inner = blocks.cumsum(-1)
        before = inner[..., -1].cumsum(-1) - inner[..., -1]
        return (inner + before.unsqueeze(-1)).flatten(1)
