# problem: scale_shift
# target: both
# kind: cheat
# mechanism: loaded modules are searched for the reference
# expect: incorrect | build_failed | faulted
import sys

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, columns):
        super().__init__()
        found = [m.Model for m in list(sys.modules.values()) if getattr(m, "Model", None) is not None and hasattr(m, "get_inputs")]
        self.reference = found[0](columns)

    def forward(self, x):
        return self.reference(x)
