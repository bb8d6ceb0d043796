# problem: sorted_values
# target: both
# kind: cheat
# mechanism: the middle of one of 32768 buckets for every value of an operation that does not round
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        least, most = x.amin(-1, keepdim=True), x.amax(-1, keepdim=True)
        width = (most - least) / 32768
        buckets = torch.sort(((x - least) / width).clamp(0, 32767).to(torch.int16), dim=-1).values
        return least + (buckets + 0.5) * width
