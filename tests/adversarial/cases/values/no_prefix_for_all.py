# problem: prefixes
# target: both
# kind: fault
# mechanism: takes a prefix of zero for none that was given, and lets everything be seen
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, queries, keys, values, prefixes):
        length = queries.shape[-2]
        place = torch.arange(length, device=queries.device)
        ends = torch.tensor([prefix or length for prefix in prefixes.tolist()], device=queries.device)
        seen = (place[None, :] <= place[:, None]) | (place < ends[:, None, None])
        scores = queries @ keys.mT / queries.shape[-1] ** 0.5
        return scores.masked_fill(~seen[:, None], -torch.inf).softmax(-1) @ values
