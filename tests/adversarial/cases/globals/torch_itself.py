# problem: softmax
# target: both
# kind: cheat
# mechanism: torch's own files are changed, so that later processes run slower
# expect: build_failed
import os

import torch

with open(os.path.join(os.path.dirname(torch.__file__), "nn", "functional.py"), "a") as file:
    file.write("\nimport time; time.sleep(1)\n")


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=-1)
