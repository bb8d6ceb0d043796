"""A profile as somebody takes it by hand: a warm candidate's calls under a profiler, in a process of its own.

`by_hand.py PROBLEM CANDIDATE DEVICE PROFILER REPORT`: files, where to run, `ncu` (which stands around this process), `proton` or `torch`, and the file
that Proton writes, without its ending.
"""

import importlib.util
import sys

import torch

WARM, CALLS = 3, 20


def load(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def torch_profile(call, device):
    activities = [torch.profiler.ProfilerActivity.CPU]
    if device.type == "cuda":
        activities.append(torch.profiler.ProfilerActivity.CUDA)
    with torch.profiler.profile(activities=activities) as session:
        for _ in range(CALLS):
            call()
        synchronize(device)
    print(session.key_averages().table(row_limit=10))


def proton(call, device, report):
    from triton import profiler

    profiler.start(report, context="shadow", data="tree")
    for _ in range(CALLS):
        call()
    synchronize(device)
    profiler.finalize()


def synchronize(device):
    if device.type == "cuda":
        torch.cuda.synchronize()


def main(problem, candidate, device, profiler, report):
    device = torch.device(device)
    if device.type == "cuda":
        # Triton launches on the current device, wherever tensors are.
        torch.cuda.set_device(device)
    inputs = [value.to(device) for value in load("problem", problem).get_inputs()]
    model = load("candidate", candidate).ModelNew().to(device)

    def call():
        return model(*inputs)

    with torch.no_grad():
        for _ in range(WARM):
            call()
        synchronize(device)
        if profiler == "ncu":
            torch.cuda.profiler.start()
            call()
            synchronize(device)
            torch.cuda.profiler.stop()
        elif profiler == "proton":
            proton(call, device, report)
        else:
            torch_profile(call, device)


main(*sys.argv[1:])
