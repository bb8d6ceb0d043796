# problem: softmax
# target: both
# kind: cheat
# mechanism: the question's number is found in the worker's frames, and answered before the worker does
# expect: rejected | incorrect
import json
import os
import struct
import sys

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        frame = sys._getframe()
        while frame is not None:
            for value in frame.f_locals.values():
                if isinstance(value, dict) and "op" in value and "id" in value:
                    text = json.dumps({"id": value["id"], "ok": {"outputs": None, "tensors": [], "ns": 1, "inner_ns": 1}}).encode()
                    os.write(3, struct.pack("<I", len(text)) + text)
            frame = frame.f_back
        return torch.zeros_like(x)
