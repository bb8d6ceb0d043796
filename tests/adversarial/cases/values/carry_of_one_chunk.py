# problem: gated_averages
# target: both
# kind: fault
# mechanism: a chunk of 64 steps begins with what the chunk before it has made by itself, and what that began with is not handed on
# expect: incorrect
# why: of ordinary gates the product of 64 is nothing; of gates that are open all the time it is not
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, gates):
        keeps = torch.sigmoid(gates).unflatten(1, (-1, 64))
        given, own, state = (1 - keeps) * x.unflatten(1, (-1, 64)), [], 0
        for step in range(64):
            state = keeps[:, :, step] * state + given[:, :, step]
            own.append(state)
        before = torch.zeros_like(state)
        before[:, 1:] = state[:, :-1]
        return (torch.stack(own, 2) + keeps.cumprod(2) * before.unsqueeze(2)).flatten(1, 2)
