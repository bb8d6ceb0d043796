# problem: paged_cache
# target: both
# kind: honest
# mechanism: pages are looked up one by one, with a running maximum and sum
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, query, keys, values, table):
        query = query / query.shape[-1] ** 0.5
        largest = torch.full(query.shape[:2], -float("inf"), device=query.device)
        total, mean = torch.zeros_like(largest), torch.zeros_like(query)
        for pages in table.long().unbind(1):
            scores = torch.einsum("bhd,bnhd->bhn", query, keys[pages])
            larger = torch.maximum(largest, scores.amax(-1))
            weights, kept = (scores - larger[..., None]).exp(), (largest - larger).exp()
            total = total * kept + weights.sum(-1)
            mean = mean * kept[..., None] + torch.einsum("bhn,bnhd->bhd", weights, values[pages])
            largest = larger
        return mean / total[..., None]
