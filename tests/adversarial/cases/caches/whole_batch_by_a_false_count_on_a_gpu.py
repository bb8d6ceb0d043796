# problem: matmul
# target: cuda
# kind: cheat
# mechanism: the first call finds the inputs of the whole batch, makes all of them in one product, and every call says that the last one has begun, so that none gets other inputs
# timed: yes
# expect: rejected
import torch

ready, counter = {}, []


def callers():
    try:
        raise KeyError
    except KeyError as error:
        frame = error.__traceback__.tb_frame
    while frame is not None:
        yield frame
        frame = frame.f_back


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        known = ready.pop(a.data_ptr(), None)
        if known is not None:
            counter[0][0] = counter[1]
            return known
        for frame in callers():
            calls, begun = frame.f_locals.get("inputs"), frame.f_locals.get("begun")
            if isinstance(calls, (list, tuple)) and len(calls) > 1 and isinstance(calls[0], list) and begun is not None:
                counter[:] = begun, len(calls)
                begun[0] = len(calls)
                products = torch.bmm(torch.stack([call[0] for call in calls]), torch.stack([call[1] for call in calls]))
                ready.clear()
                ready.update((call[0].data_ptr(), product) for call, product in zip(calls, products.unbind()))
                return ready.pop(a.data_ptr())
        return a @ b
