# problem: matmul
# target: cuda
# kind: cheat
# mechanism: Triton's benchmark function is replaced
# timed: yes
# expect: rejected
import torch
import triton

triton.testing.do_bench = lambda *_, **__: 1e-6


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        return a @ b
