# problem: ring_and_jumps
# target: both
# kind: cheat
# mechanism: edges that are the same in every draw are part of the code
# expect: incorrect
# why: they have to be others, and not only come in another order
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, edges):
        node = torch.arange(64, device=x.device)
        source, target = torch.cat([node, node]), torch.cat([(node + 1) % 64, (7 * node + 3) % 64])
        sums = torch.zeros_like(x).index_add_(0, target, x[source])
        counts = torch.bincount(target, minlength=64)
        return sums / counts.clamp(min=1)[:, None]
