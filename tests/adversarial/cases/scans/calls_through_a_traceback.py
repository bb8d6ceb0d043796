# problem: one_row
# target: cpu
# kind: cheat
# mechanism: the inputs of all calls are found in the frames that a traceback leads to, and one product is made of them
# expect: faulted
# timed: yes
import gc

import torch


def callers():
    try:
        raise KeyError
    except KeyError as error:
        frame = error.__traceback__.tb_frame
    while frame is not None:
        yield frame
        frame = frame.f_back


class ModelNew(torch.nn.Module):
    def __init__(self, features, hidden):
        super().__init__()
        self.up = torch.nn.Linear(features, hidden, bias=False)
        self.down = torch.nn.Linear(hidden, features, bias=False)

    def layers(self, x):
        return self.down(torch.nn.functional.silu(self.up(x)))

    def forward(self, x):
        if not gc.isenabled():
            for frame in callers():
                if "arguments" in frame.f_locals and "outputs" in frame.f_locals:
                    calls, outputs = frame.f_locals["inputs"], frame.f_locals["outputs"]
                    made = list(self.layers(torch.cat([call[0] for call in calls])).split(1))
                    outputs.extend(made[:-1])
                    del calls[1:]
                    return made[-1]
        return self.layers(x)
