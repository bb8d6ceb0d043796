# problem: matmul
# target: cpu
# kind: honest
# mechanism: names its caller once, in a line of its log
# timed: yes
# expect: correct
# finding: reads_frames
import inspect
import logging

import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.is_known = False

    def forward(self, a, b):
        if not self.is_known:
            self.is_known = True
            logging.getLogger(__name__).info("called from %s", inspect.stack()[1].function)
        return (b.T @ a.T).T
