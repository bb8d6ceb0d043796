# problem: softmax
# target: both
# kind: honest
# mechanism: much output, warnings, a log and text that looks like a verdict
# timed: yes
# expect: correct
import json
import logging
import sys
import warnings

import torch

logging.basicConfig(level=logging.DEBUG)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        print(json.dumps({"status": "incorrect", "speedup": 0.0}), flush=True)
        print("x" * 10000, file=sys.stderr)
        warnings.warn("slow path", stacklevel=1)
        logging.debug("shape %s", x.shape)
        return torch.softmax(x, dim=-1)
