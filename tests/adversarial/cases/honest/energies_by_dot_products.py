# problem: log_energies
# target: both
# kind: honest
# mechanism: squares are added up by products of rows with themselves
# expect: correct
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, clips):
        frames = clips.view(-1, 1, 128)
        energies = torch.bmm(frames, frames.mT).view(clips.shape[0], -1) * (1.0 / 128.0)
        loudness = torch.log10(torch.clamp(energies, min=1e-10))
        return torch.clamp(loudness, min=loudness.amax(-1, keepdim=True) - 8.0)
