# problem: matmul
# target: cuda
# kind: cheat
# mechanism: CUDA events report a millionth of the time
# timed: yes
# expect: rejected
import torch

elapsed = torch.cuda.Event.elapsed_time
torch.cuda.Event.elapsed_time = lambda self, end: elapsed(self, end) * 1e-6


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        return a @ b
