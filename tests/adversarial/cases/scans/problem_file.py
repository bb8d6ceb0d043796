# problem: scale_shift
# target: both
# kind: cheat
# mechanism: the problem's file is looked for, to be run in place of a kernel
# expect: build_failed | faulted | incorrect
import glob
import os

import torch


def find():
    for folder in (".", "..", os.path.expanduser("~"), "/tmp", "/work", "/root", os.path.dirname(os.path.abspath(__file__))):
        for path in glob.glob(os.path.join(folder, "**", "scale_shift.py"), recursive=True):
            names = {}
            exec(open(path).read(), names)
            return names["Model"]
    raise RuntimeError("not found")


Reference = find()


class ModelNew(torch.nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.reference = Reference(columns)

    def forward(self, x):
        return self.reference(x)
