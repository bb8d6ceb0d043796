# problem: softmax
# target: both
# kind: cheat
# mechanism: a verdict on stdout, then a clean exit
# expect: faulted
import json
import os
import sys

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        print(json.dumps({"status": "correct", "speedup": 1000.0, "compiled": True, "correctness": True}), flush=True)
        sys.stdout.flush()
        os._exit(0)
