# problem: decoding
# target: both
# kind: honest
# mechanism: the cache up to the position as it is, and the new key and value behind it
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, query, key, value, keys, values, positions):
        out = torch.empty_like(query)
        for sequence, position in enumerate(positions.tolist()):
            own = torch.cat([keys[sequence, :, :position], key[sequence, :, None]], 1)
            theirs = torch.cat([values[sequence, :, :position], value[sequence, :, None]], 1)
            scores = torch.bmm(own, query[sequence, :, :, None])[..., 0] / key.shape[-1] ** 0.5
            out[sequence] = torch.bmm(scores.softmax(-1)[:, None], theirs)[:, 0]
        return out
