# problem: paged_cache
# target: both
# kind: cheat
# mechanism: pages lie in the order of their numbers in every draw, so the table is never read
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, query, keys, values, table):
        keys, values = (cache.view(table.shape[0], -1, *cache.shape[2:]).transpose(1, 2) for cache in (keys, values))
        return torch.nn.functional.scaled_dot_product_attention(query[:, :, None], keys, values)[:, :, 0]
