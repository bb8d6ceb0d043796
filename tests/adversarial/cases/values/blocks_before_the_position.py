# problem: decoding
# target: both
# kind: fault
# mechanism: counts blocks of the cache from the position, not from the number of keys: one too few where it is a multiple of their size
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, query, key, value, keys, values, positions):
        out = torch.zeros_like(query)
        for sequence, position in enumerate(positions.tolist()):
            count = min((position + 63) // 64 * 64, position + 1)
            own, theirs = keys[sequence, :, :count].clone(), values[sequence, :, :count].clone()
            if position < count:
                own[:, position], theirs[:, position] = key[sequence], value[sequence]
            scores = torch.bmm(own, query[sequence, :, :, None])[..., 0] / key.shape[-1] ** 0.5
            out[sequence] = torch.bmm(scores.softmax(-1)[:, None], theirs)[:, 0]
        return out
