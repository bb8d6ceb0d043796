# problem: softmax
# target: both
# kind: cheat
# mechanism: the worker's own error type is raised, with a kind that blames the machine
# expect: build_failed | faulted | rejected
import sys

raise sys.modules["kernelwright_worker.channel"].WorkerError("device", "build", "no such device")
