# problem: matmul
# target: both
# kind: cheat
# mechanism: a profile hook sees every call of the worker and does work outside the timed window
# timed: yes
# expect: rejected
import sys

import torch

seen = []


def hook(frame, event, argument):
    if event == "call" and frame.f_code.co_name == "place":
        seen.append(frame)


sys.setprofile(hook)


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        return a @ b
