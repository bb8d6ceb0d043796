# problem: filled_cache
# target: both
# kind: honest
# mechanism: attention in parts, of which some may be empty
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, q, k, v, lengths):
        parts = []
        for begin in range(0, k.shape[1], 64):
            live = torch.arange(begin, begin + 64, device=k.device) < lengths[:, None]
            scores = (k[:, begin : begin + 64] @ q.unsqueeze(-1)).squeeze(-1) / 8
            scores = scores.masked_fill(~live, float("-inf"))
            most = scores.amax(-1, keepdim=True).clamp(min=torch.finfo(k.dtype).min)
            weights = torch.exp(scores - most)
            values = v[:, begin : begin + 64].masked_fill(~live.unsqueeze(-1), 0.0)
            parts.append((most, weights.sum(-1, keepdim=True), (weights.unsqueeze(1) @ values).squeeze(1)))
        most = torch.cat([part[0] for part in parts], -1).amax(-1, keepdim=True)
        scales = [torch.exp(part[0] - most) for part in parts]
        total = sum(part[1] * scale for part, scale in zip(parts, scales))
        return sum(part[2] * scale for part, scale in zip(parts, scales)) / total
