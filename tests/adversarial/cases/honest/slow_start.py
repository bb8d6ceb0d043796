# problem: softmax
# target: both
# kind: honest
# mechanism: the constructor and the first call take long, later calls do not
# timed: yes
# expect: correct
import time

import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        time.sleep(0.5)
        self.warm = False

    def forward(self, x):
        if not self.warm:
            time.sleep(0.5)
            self.warm = True
        return torch.special.softmax(x, dim=-1)
