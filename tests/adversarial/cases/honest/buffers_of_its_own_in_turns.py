# problem: chain
# target: both
# kind: honest
# mechanism: sixteen buffers in turns, made when the module is built and at its first call: memory that is older than the calls
# timed: yes
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.buffers, self.calls = [torch.empty(256 * 512)], 0

    def forward(self, x, y):
        while len(self.buffers) < 16:
            self.buffers.append(torch.empty(256 * 512, device=x.device))
        self.buffers[0] = self.buffers[0].to(x.device)
        out = self.buffers[self.calls % 16][: x.numel()].view(x.shape)
        self.calls += 1
        z = torch.sigmoid(x) * y
        return torch.mul(torch.tanh(z + x).clamp_(-0.9, 0.9), y, out=out)
