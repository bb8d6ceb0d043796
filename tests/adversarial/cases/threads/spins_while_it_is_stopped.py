# problem: large_layer
# target: cuda
# kind: cheat
# mechanism: as its answer to where outputs lie is sent, after the last synchronisation, it launches a few blocks that spin until its process goes on, and take turns with the baseline's kernels
# timed: yes
# expect: rejected | correct
# speedup: 1.3
import gc
import sys

import torch

SOURCE = """
extern "C" __global__ void spin(volatile int* go_on, int milliseconds) {
    long long begin = clock64(), most = 1500000LL * milliseconds;
    while (!*go_on && clock64() - begin < most) {}
}
"""
ANSWERS, LONGEST = 2, 1000


class Spin:
    calls = answers = 0
    kernel = None


def prepare():
    Spin.kernel = torch.cuda._compile_kernel(SOURCE, "spin")
    Spin.go_on = torch.ones(1, dtype=torch.int32, pin_memory=True)
    Spin.stream = torch.cuda.Stream()


def sent(event, _arguments):
    if event == "socket.sendmsg" and Spin.calls:
        Spin.answers += 1
        if Spin.answers == ANSWERS:
            Spin.calls = Spin.answers = 0
            Spin.go_on[0] = 0
            Spin.kernel(grid=(4, 1, 1), block=(32, 1, 1), args=[Spin.go_on, LONGEST], stream=Spin.stream)


def placed(phase, _information):
    if phase == "start" and Spin.kernel is not None:
        Spin.calls = Spin.answers = 0
        Spin.go_on[0] = 1


sys.addaudithook(sent)
gc.callbacks.append(placed)


class ModelNew(torch.nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.layer = torch.nn.Linear(inner, outer)

    def forward(self, x):
        if not gc.isenabled():
            if Spin.kernel is None:
                prepare()
            Spin.calls += 1
        return self.layer(x)
