# problem: bags_of_one
# target: both
# kind: honest
# mechanism: differences of running sums where bags begin: in bags that are not in order these are no sums of nothing
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, offsets):
        sums = torch.nn.functional.pad(x.double().cumsum(0), (0, 0, 1, 0))
        ends = torch.cat([offsets[1:], offsets.new_tensor([len(x)])])
        return (sums[ends] - sums[offsets]).to(x.dtype)
