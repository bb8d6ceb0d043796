"""One step of decoding: a key and a value are written at a position of each sequence's cache, which attends to all up to it."""

import torch


class Model(torch.nn.Module):
    def forward(self, query, key, value, keys, values, positions):
        sequences = torch.arange(keys.shape[0], device=keys.device)
        keys, values = keys.clone(), values.clone()
        keys[sequences, :, positions], values[sequences, :, positions] = key, value
        scores = torch.einsum("bhd,bhsd->bhs", query, keys) / keys.shape[-1] ** 0.5
        later = torch.arange(keys.shape[2], device=keys.device) > positions[:, None, None]
        return torch.einsum("bhs,bhsd->bhd", scores.masked_fill(later, -torch.inf).softmax(-1), values)


def get_inputs():
    one, cache = (4, 8, 64), (4, 8, 512, 64)
    return [*(torch.randn(one) for _ in range(3)), torch.randn(cache), torch.randn(cache), torch.randint(0, 512, (4,))]
