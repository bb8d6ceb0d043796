# problem: sums_from_flags
# target: both
# kind: fault
# mechanism: a block of 256 begins with the sum of the block before: where that has no flag, what it began with is not handed on
# expect: incorrect
# why: one flag in twenty leaves no block without any; a row without flags does
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, starts):
        blocks, flags = (tensor.reshape(x.shape[0], -1, 256) for tensor in (x, starts))
        sums = blocks.double().cumsum(2)
        places = torch.arange(256, device=x.device).expand_as(blocks)
        begin = torch.where(flags, places, 0).cummax(2).values
        own = sums - (sums - blocks).gather(2, begin)
        before = torch.zeros_like(own[..., :1])
        before[:, 1:] = own[:, :-1, -1:]
        return torch.where(flags.cummax(2).values, own, own + before).reshape(x.shape).to(x.dtype)
