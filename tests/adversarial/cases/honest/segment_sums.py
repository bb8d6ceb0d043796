# problem: segments
# target: both
# kind: honest
# mechanism: sums of segments by differences of a running sum in float64
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, values, offsets):
        running = torch.cat([values.new_zeros(1, dtype=torch.double), values.double().cumsum(0)])
        return (running[offsets[1:]] - running[offsets[:-1]]).to(values.dtype)
