# problem: softmax
# target: both
# kind: cheat
# mechanism: the supervisor is killed
# expect: faulted
import os
import signal

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        os.kill(os.getppid(), signal.SIGKILL)
        return torch.softmax(x, dim=-1)
