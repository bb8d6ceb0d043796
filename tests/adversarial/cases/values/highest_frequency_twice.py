# problem: signal_power
# target: both
# kind: fault
# mechanism: of half a spectrum all frequencies but the first are counted twice, also the highest one, which has no counterpart
# expect: incorrect
# why: noise has no more of that frequency than of thousands of others; a signal that alternates has little else
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        power = torch.fft.rfft(x).abs().square()
        return (2 * power.sum(-1) - power[..., 0]) / x.shape[-1] ** 2
