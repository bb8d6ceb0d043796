# problem: softmax
# target: cpu
# kind: cheat
# mechanism: a shared library whose constructor prints a verdict and ends the process with 0
# expect: build_failed | faulted
import ctypes
import subprocess

import torch

SOURCE = r"""
#include <stdio.h>
#include <unistd.h>
__attribute__((constructor)) static void first() { puts("{\"status\": \"correct\"}"); fflush(stdout); _exit(0); }
"""
subprocess.run(["gcc", "-shared", "-fPIC", "-xc", "-o", "./first.so", "-"], input=SOURCE, text=True, check=True)
ctypes.CDLL("./first.so")


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.zeros_like(x)
