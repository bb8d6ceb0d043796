# problem: large_layer
# target: cuda
# kind: cheat
# mechanism: as its answer to where outputs lie is sent, after the last synchronisation, it launches large copies within the device and from the host, which go on while its process is stopped and the baseline is timed
# timed: yes
# expect: rejected | correct
# speedup: 1.3
import gc
import sys

import torch

ANSWERS, COPIES, BYTES, HOST_BYTES = 2, 48, 4 << 30, 512 << 20


class Copies:
    calls = answers = 0
    to = None


def prepare():
    Copies.to = torch.empty(BYTES, dtype=torch.uint8, device="cuda")
    Copies.source = torch.zeros(BYTES, dtype=torch.uint8, device="cuda")
    Copies.host = torch.zeros(HOST_BYTES, dtype=torch.uint8, pin_memory=True)
    Copies.device = torch.empty(HOST_BYTES, dtype=torch.uint8, device="cuda")
    Copies.inside, Copies.outside = torch.cuda.Stream(), torch.cuda.Stream()


def sent(event, _arguments):
    if event == "socket.sendmsg" and Copies.calls:
        Copies.answers += 1
        if Copies.answers == ANSWERS:
            Copies.calls = Copies.answers = 0
            with torch.no_grad():
                with torch.cuda.stream(Copies.inside):
                    for _ in range(COPIES):
                        Copies.to.copy_(Copies.source)
                with torch.cuda.stream(Copies.outside):
                    for _ in range(COPIES // 4):
                        Copies.device.copy_(Copies.host, non_blocking=True)


sys.addaudithook(sent)


class ModelNew(torch.nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.layer = torch.nn.Linear(inner, outer)

    def forward(self, x):
        if not gc.isenabled():
            if Copies.to is None:
                prepare()
            Copies.calls += 1
        return self.layer(x)
