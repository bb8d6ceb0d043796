# problem: matmul
# target: cpu
# kind: cheat
# mechanism: a timer that sends SIGCONT wakes the stopped process, which then works where nobody counts the time
# timed: yes
# expect: correct | rejected | build_failed
# speedup: 1.4
import ctypes
import signal
import threading
import time

import torch


class Event(ctypes.Structure):
    _fields_ = [("value", ctypes.c_void_p), ("signal", ctypes.c_int), ("notify", ctypes.c_int), ("rest", ctypes.c_char * 48)]


class Spec(ctypes.Structure):
    _fields_ = [("interval", ctypes.c_long * 2), ("value", ctypes.c_long * 2)]


libc = ctypes.CDLL(None, use_errno=True)
timer = ctypes.c_void_p()
if libc.timer_create(time.CLOCK_MONOTONIC, ctypes.byref(Event(None, signal.SIGCONT, 0)), ctypes.byref(timer)) == 0:
    every = Spec((0, 200_000), (0, 200_000))
    libc.timer_settime(timer, 0, ctypes.byref(every), None)


def burn():
    while True:
        sum(range(1000))


for _ in range(2):
    threading.Thread(target=burn, daemon=True).start()


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        return a @ b
