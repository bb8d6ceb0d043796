"""What a call of a problem's reference takes in a process that does nothing else, as its users run it: seconds, the median of batches."""

import statistics
import sys
from functools import partial
from time import perf_counter

import torch

problem, device, threads, calls = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
if threads:
    torch.set_num_threads(threads)
names = {}
with open(problem, encoding="utf-8") as file:
    exec(compile(file.read(), problem, "exec"), names)
model = names["Model"](*names["get_init_inputs"]()).to(device)
inputs = [[value.to(device) for value in names["get_inputs"]()] for _ in range(calls)]
synchronize = partial(torch.cuda.synchronize, device) if device != "cpu" else lambda: None


def batch():
    """Seconds of one call among others with inputs of their own."""
    synchronize()
    start = perf_counter()
    for arguments in inputs:
        model(*arguments)
    synchronize()
    return (perf_counter() - start) / len(inputs)


with torch.no_grad():
    for _ in range(3):
        batch()
    print(statistics.median(batch() for _ in range(15)))
