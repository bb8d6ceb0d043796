# problem: configured_heads
# target: both
# kind: honest
# mechanism: what it is built with is a dataclass with a property and a namespace, and its input a named tuple
# expect: correct
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, config, options):
        super().__init__()
        self.heads, self.size, self.scale = config.heads, config.size, options.scale
        self.project = nn.Linear(config.width, 3 * config.width)

    def forward(self, batch):
        q, k, v = self.project(batch.x).unflatten(-1, (3, self.heads, self.size)).permute(2, 0, 3, 1, 4)
        bias = torch.where(batch.keep, 0.0, float("-inf")).to(q.dtype)[:, None, None, :]
        output = torch.softmax(torch.baddbmm(bias.expand(-1, self.heads, q.shape[2], -1).flatten(0, 1), q.flatten(0, 1), k.flatten(0, 1).mT, alpha=self.scale), dim=-1)
        output = (output @ v.flatten(0, 1)).unflatten(0, q.shape[:2])
        return {"output": output.transpose(1, 2).flatten(2), "kept": batch.keep.sum(1)}
