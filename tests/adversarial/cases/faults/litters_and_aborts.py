# problem: softmax
# target: both
# kind: fault
# mechanism: shared memory, files and a child are left behind by an assertion of C
# expect: faulted
import ctypes
import os
import signal
import tempfile

import torch

C = ctypes.CDLL(None, use_errno=True)


def attempt(work):
    try:
        work()
    except (OSError, RuntimeError):
        pass


def write(path):
    with open(path, "wb") as file:
        file.write(bytes(1 << 16))


class ModelNew(torch.nn.Module):
    def forward(self, x):
        name = f"kernelwright-litter-{os.getpid()}"
        for folder in ("/dev/shm", "/tmp", "/var/tmp", tempfile.gettempdir(), os.path.expanduser("~")):
            attempt(lambda: write(os.path.join(folder, name)))
        C.shmget(os.getpid(), 1 << 16, 0o1600)
        C.semget(os.getpid(), 1, 0o1600)
        C.msgget(os.getpid(), 0o1600)
        self.shared = torch.ones(1 << 10)
        attempt(self.shared.share_memory_)
        if os.fork() == 0:
            signal.pause()
        C.abort()
